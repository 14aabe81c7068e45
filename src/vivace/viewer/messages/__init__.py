"""What the page and the server say to each other: every message is a dataclass here.

The page's types (page/src/messages.ts) are made from these by `python -m vivace.viewer.typescript`, and a test holds
the two together. Text messages are JSON objects whose "type" is the class's own word. The two binary ones, `SceneData`
and `FrameData`, are a header with arrays behind it, see `packing`.

    page ──► server    grab drag release   change run load_scene set_recording save   drawn
    server ──► page    hello state notice slipped download            SceneData FrameData (binary)

Flow: the server sends a frame, and the next one only when the page has said `drawn`; the newest wins.
"""

from .binary import ArraySpec, CameraView, FrameData, SceneData, ViewData
from .coding import decode, encode, plain
from .from_page import (
    FROM_PAGE,
    RANGES,
    Change,
    Drag,
    Drawn,
    FromPage,
    Grab,
    LoadScene,
    Release,
    Run,
    Save,
    SetRecording,
)
from .settings import (
    LONGEST,
    BodyKind,
    BudgetMs,
    ColourBy,
    GrabRadius,
    Gravity,
    HandForce,
    Heading,
    Iterations,
    Name,
    Order,
    Pointer,
    RecordingFormat,
    Relaxation,
    Settings,
    Stiffness,
    TimeStep,
    Vector,
    Vertex,
    Wind,
)
from .to_page import Download, Hello, Notice, SceneChoice, Slipped, SolverChoice, State, ToPage

__all__ = [
    "FROM_PAGE",
    "LONGEST",
    "RANGES",
    "ArraySpec",
    "BodyKind",
    "BudgetMs",
    "CameraView",
    "Change",
    "ColourBy",
    "Download",
    "Drag",
    "Drawn",
    "FrameData",
    "FromPage",
    "Grab",
    "GrabRadius",
    "Gravity",
    "HandForce",
    "Heading",
    "Hello",
    "Iterations",
    "LoadScene",
    "Name",
    "Notice",
    "Order",
    "Pointer",
    "RecordingFormat",
    "Relaxation",
    "Release",
    "Run",
    "Save",
    "SceneChoice",
    "SceneData",
    "SetRecording",
    "Settings",
    "Slipped",
    "SolverChoice",
    "State",
    "Stiffness",
    "TimeStep",
    "ToPage",
    "Vector",
    "Vertex",
    "ViewData",
    "Wind",
    "decode",
    "encode",
    "plain",
]
