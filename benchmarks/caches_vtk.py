"""Caches as VTK reads them, which is what ParaView is made of. Needs a Python with vtk and NumPy, and not Vivace.

    python benchmarks/caches_vtk.py FOLDER

FOLDER holds a.npz, a.xdmf, a.glb, o/####.obj and p/####.ply of the same motion, as `vivace.export` writes them.
"""

import sys
from pathlib import Path

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline
from vtkmodules.vtkIOGeometry import vtkGLTFReader, vtkOBJReader
from vtkmodules.vtkIOPLY import vtkPLYReader
from vtkmodules.vtkIOXdmf2 import vtkXdmfReader


def points(data):
    """(n, 3) of a data set, or of the first one in a tree of them."""
    while not hasattr(data, "GetPoints"):
        data = next(block for k in range(data.GetNumberOfBlocks()) if (block := data.GetBlock(k)) is not None)
    return vtk_to_numpy(data.GetPoints().GetData())


def series(reader):
    """Positions at every time that a reader knows."""
    reader.UpdateInformation()
    known = reader.GetOutputInformation(0).Get(Pipeline.TIME_STEPS())
    for time in known:
        reader.UpdateTimeStep(time)
        yield points(reader.GetOutputDataObject(0))


def gltf(path, times):
    """Positions of a GLB with its animation at these times."""
    reader = vtkGLTFReader()
    reader.SetFileName(str(path))
    reader.SetFrameRate(30)
    reader.UpdateInformation()
    reader.EnableAnimation(0)
    reader.UpdateInformation()
    for time in times:
        reader.UpdateTimeStep(float(time))
        yield points(reader.GetOutput())


def files(reader, pattern):
    """Positions of a sequence."""
    for path in sorted(pattern):
        reader.SetFileName(str(path))
        reader.Modified()
        reader.Update()
        yield points(reader.GetOutput())


def main(folder):
    """Print a row for each format."""
    with np.load(folder / "a.npz") as truth:
        given, times = truth["positions"], truth["times"]
    xdmf = vtkXdmfReader()
    xdmf.SetFileName(str(folder / "a.xdmf"))
    found = {
        ".xdmf": series(xdmf),
        ".glb": gltf(folder / "a.glb", times),
        ".obj": files(vtkOBJReader(), (folder / "o").iterdir()),
        ".ply": files(vtkPLYReader(), (folder / "p").iterdir()),
    }
    for suffix, frames in found.items():
        worst, count = 0.0, 0
        for one, other in zip(frames, given, strict=False):
            worst, count = max(worst, float(np.abs(one - other).max())), count + 1
        print(f"{suffix}: {count} of {len(given)} frames, largest difference {worst:.2g} m")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
