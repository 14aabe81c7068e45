"""Many runs of a scene: a grid or a sample of values, made by processes that may die, as one table.

    table = vivace.sweep("tablecloth", {"stretch": "1e2:1e5:log:20", "substeps": [2, 4]}, frames=60, out="results")

`describing` makes data of a scene and knows what can be varied in it, `values` and `sampling` say over what, `plan` has
the runs, `task` makes one of them, `workers` the processes, and `results` keeps what they gave.
"""

from .plan import Plan
from .results import Results
from .sampling import SAMPLINGS
from .sweep import make_runs, planned, sweep, write_files
from .workers import Workers

__all__ = ["SAMPLINGS", "Plan", "Results", "Workers", "make_runs", "planned", "sweep", "write_files"]
