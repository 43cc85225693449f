"""The newest peers: a Python environment made by `make peers-venv`, at build/peers-venv or PEERS_VENV. With it,
whatever older ones the system has (PyTorch 1.13 of Debian) stay out."""
import glob, os

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


DEFAULT = os.path.join(ROOT, "build", "peers-venv")


def wanted():
    return os.path.abspath(os.environ.get("PEERS_VENV") or DEFAULT)


def folder():
    return wanted() if os.path.exists(os.path.join(wanted(), "bin", "python")) else None


def missing():
    """Why there is none, where one was asked for by name; else None."""
    if folder() or wanted() == DEFAULT:
        return None
    return f"PEERS_VENV={wanted()}: has no bin/python; make peers-venv PEERS_VENV={wanted()} makes it"


def python():
    return folder() and os.path.join(folder(), "bin", "python")


def version(package):
    """Of an installed package, or None."""
    found = folder() and glob.glob(os.path.join(folder(), "lib", "python3*", "site-packages", f"{package.replace('-', '_')}-*.dist-info"))
    return os.path.basename(found[0])[len(package) + 1:-len(".dist-info")] if found else None


def intel_mpi():
    """Its launcher, and flags for a compiler: the wrappers of the packages on PyPI do not know where they are."""
    place = folder()
    if not place or not os.path.exists(os.path.join(place, "include", "mpi.h")):
        return None
    library = os.path.join(place, "lib")
    return {"launcher": os.path.join(place, "bin", "mpiexec.hydra"),
            "flags": ["-I", os.path.join(place, "include"), "-L", library, f"-Wl,-rpath,{library}", "-lmpi"]}
