"""Arrays for the command: written once into memory without a name, which the child reads as the
.npy files of a folder."""

import contextlib, mmap, os, re, shutil, stat, tempfile
from pathlib import Path
import numpy as np
from ._command import Error

SHARED = "/dev/shm"


def started_at(pid):
    """When a process began, in ticks since the system did; None: there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else fields[19]


def owner():
    """This process, as no other one was or is called: its number may come again, and another
    container has numbers of its own."""
    namespace = re.sub("[^0-9]", "", os.readlink("/proc/self/ns/pid"))
    return f"{os.getpid()}-{started_at(os.getpid())}-{namespace}"


def remove_abandoned():
    """Folders of processes that are gone, which were killed before they could. Those of other
    users, and of other containers, stay."""
    namespace = owner().rpartition("-")[2]
    for entry in os.scandir(SHARED):
        name = re.fullmatch(r"hogring-python-(\d+)-(\d+)-(\d+)-\w+", entry.name)
        if not name or name[3] != namespace or started_at(name[1]) == name[2]:
            continue
        with contextlib.suppress(FileNotFoundError):  # another process was here first
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                shutil.rmtree(entry.path, ignore_errors=True)


def refuse(line):
    raise Error(line, 2)


def columns_of(X):
    """The names of a table's columns; None where it has none, or not all are text."""
    names = list(getattr(X, "columns", ())) if getattr(X, "ndim", 2) == 2 else []
    usable = all(
        isinstance(name, str) and 0 < len(name.encode()) < 256 and "\n" not in name
        for name in names
    )
    return names if names and usable and len(set(names)) == len(names) else None


def as_features(X, name="X"):
    """Numbers in 2 to 4 dimensions; nothing is copied that is an array of them already."""
    if hasattr(X, "dtypes") and hasattr(X, "select_dtypes"):  # a DataFrame
        words = list(X.select_dtypes(exclude=["number", "bool"]).columns)
        if words:
            refuse(
                f"{name}: column {words[0]!r} holds no numbers; expected numbers "
                "(pandas.get_dummies makes them of categories)"
            )
    if hasattr(X, "toarray"):
        refuse(
            f'{name}: is sparse; expected an array (.toarray()), or data="rows.libsvm", which '
            "stays sparse"
        )
    try:
        array = np.asarray(X)
        array = array.astype(float) if array.dtype.kind == "O" else array
    except (TypeError, ValueError) as error:
        refuse(f"{name}: {error}; expected an array of numbers")
    if array.dtype.kind not in "biuf":
        refuse(f"{name}: holds {array.dtype}; expected numbers")
    if not 2 <= array.ndim <= 4:
        refuse(
            f"{name}: has shape {array.shape}; expected (samples, features), (n, height, width) or "
            "(n, channels, height, width)"
        )
    size = array.dtype.itemsize
    if array.dtype.kind == "f" and size not in (4, 8):
        array = array.astype(np.float32 if size < 4 else np.float64)
    return array


def as_labels(y, count, name="y"):
    """Classes as numbers or texts, or values, (n) or (n, k)."""
    try:
        array = np.asarray(y)
        if array.dtype.kind == "O":
            missing = [i for i, label in enumerate(array.flat) if label is None or label != label]
            if missing:
                refuse(f"{name}: row {missing[0]} is missing")
            array = np.asarray(array.tolist())
    except (TypeError, ValueError) as error:
        refuse(f"{name}: {error}; expected a label for each sample")
    if array.dtype.kind not in "biufUS":
        refuse(f"{name}: holds {array.dtype}; expected numbers or texts")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or len(array) != count:
        refuse(f"{name}: has shape {array.shape}; expected one label for each of {count} samples")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float64)
    return array


def folder_in_memory():
    with contextlib.suppress(OSError):
        remove_abandoned()
    try:
        return tempfile.TemporaryDirectory(prefix=f"hogring-python-{owner()}-", dir=SHARED)
    except OSError as error:
        line = f"/dev/shm: {error.strerror}; expected a folder to write into, shared memory"
        raise Error(line, 3) from None


def in_memory(array):
    """A file descriptor of the array as .npy in C order, whatever its strides, by one pass."""
    head = np.lib.format.header_data_from_array_1_0(array)
    fd = os.memfd_create("hogring.npy")
    try:
        with open(fd, "wb", closefd=False) as file:
            np.lib.format.write_array_header_1_0(file, {**head, "fortran_order": False})
        begin = os.fstat(fd).st_size
        if array.nbytes:
            os.posix_fallocate(fd, begin, array.nbytes)  # without memory an error; below a signal
            with mmap.mmap(fd, begin + array.nbytes) as memory:
                np.ndarray(array.shape, array.dtype, memory, begin)[...] = array
    except OSError as error:
        os.close(fd)
        line = f"no memory for {array.nbytes} bytes of an array: {error.strerror}"
        raise Error(line, 3) from None
    return fd


class HandedOver:
    """with HandedOver(X, y, X_test, y_test) as data: `arguments` name a folder, which a child that
    inherits `fds` can read."""

    def __init__(self, X=None, y=None, X_test=None, y_test=None):
        self.folder, self.fds, self.arguments = None, [], []
        if X is None and not (y is X_test is y_test is None):
            refuse('X is missing; expected X and y, or data="a file or a folder"')
        if X is not None and y is None or (X_test is None) != (y_test is None):
            refuse("y is missing; expected a label for each sample of X, and of X_test")
        self.arrays, self.names = {}, columns_of(X)
        for split, x, labels in (("train", X, y), ("test", X_test, y_test)):
            if x is None:
                continue
            suffix = "" if split == "train" else "_test"
            if self.names and columns_of(x) and columns_of(x) != self.names:
                refuse(f"X{suffix}: has other columns than X, or in another order")
            self.arrays[f"X_{split}.npy"] = as_features(x, "X" + suffix)
            self.arrays[f"y_{split}.npy"] = as_labels(labels, len(x), "y" + suffix)

    def __enter__(self):
        if not self.arrays:
            return self
        self.made = folder_in_memory()
        self.folder = self.made.name + "/arrays"  # its last word is what titles call it
        try:
            os.mkdir(self.folder)
            for name, array in self.arrays.items():
                self.fds.append(in_memory(array))
                os.symlink(f"/proc/self/fd/{self.fds[-1]}", f"{self.folder}/{name}")
            if self.names and self.arrays["X_train.npy"].ndim == 2:
                text = "".join(name + "\n" for name in self.names)
                Path(self.folder, "feature_names.txt").write_text(text, encoding="utf-8")
        except BaseException:
            self.__exit__()
            raise
        self.arguments = ["--data", self.folder]
        return self

    def __exit__(self, *_):
        for fd in self.fds:
            os.close(fd)
        if self.folder:
            self.made.cleanup()

    def named(self, line):
        """A line of the command's, with the caller's names in place of the folder's."""
        if not self.folder:
            return line
        for name in self.arrays:
            plain = name.replace("_train", "").replace(".npy", "")
            line = line.replace(f"{self.folder}/{name}", plain)
        return line.replace(self.folder, "X, y")
