"""What the page and the server say to each other: every message is a dataclass here.

The page's types (page/src/messages.ts) are made from these by `python -m vivace.viewer.typescript`, and a test holds
the two together. Text messages are JSON objects whose "type" is the class's own word. The two binary ones, `SceneData`
and `FrameData`, are a header with arrays behind it, see `packing`.

    page ──► server    grab drag release   change run load_scene remake set_recording save   drawn
    server ──► page    hello state notice download            SceneData FrameData (binary)

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
    Remake,
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
    Heading,
    Iterations,
    MeshKind,
    Name,
    Order,
    Pointer,
    RecordingFormat,
    Relaxation,
    Resolution,
    Settings,
    Stiffness,
    TimeStep,
    Vector,
    Vertex,
    Wind,
)
from .to_page import Download, FabricChoice, Hello, Notice, SceneChoice, SolverChoice, Starting, State, ToPage

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
    "FabricChoice",
    "FrameData",
    "FromPage",
    "Grab",
    "GrabRadius",
    "Gravity",
    "Heading",
    "Hello",
    "Iterations",
    "LoadScene",
    "MeshKind",
    "Name",
    "Notice",
    "Order",
    "Pointer",
    "RecordingFormat",
    "Relaxation",
    "Release",
    "Remake",
    "Resolution",
    "Run",
    "Save",
    "SceneChoice",
    "SceneData",
    "SetRecording",
    "Settings",
    "SolverChoice",
    "Starting",
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
