"""A saved model in this process, by the library: calls of hogring/predict.h, and no struct."""

import ctypes, json, os, re, threading, weakref
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_size_t, c_uint32, c_void_p
import numpy as np
from ._arrays import as_features, columns_of, in_memory, refuse
from ._command import Error, path_of

CALLS = {  # result and arguments of each
    "hr_predictor_open": (c_int, c_char_p, c_char_p, POINTER(c_void_p)),
    "hr_predictor_about": (c_char_p, c_void_p),
    "hr_predictor_tensor": (
        c_void_p,
        c_void_p,
        c_size_t,
        POINTER(c_char_p),
        POINTER(c_char_p),
        POINTER(POINTER(c_size_t)),
        POINTER(c_size_t),
    ),
    "hr_predictor_run": (c_int, c_void_p, c_char_p),
    "hr_predictor_columns": (POINTER(c_float), c_void_p, POINTER(c_size_t), POINTER(c_size_t)),
    "hr_predictor_values": (POINTER(c_double), c_void_p, POINTER(c_size_t), POINTER(c_size_t)),
    "hr_predictor_answers": (POINTER(c_uint32), c_void_p),
    "hr_predictor_close": (None, c_void_p),
    "hr_error_message": (c_char_p,),
    "hr_status_exit_code": (c_int, c_int),
    "hr_digest_floats": (None, c_void_p, c_size_t, c_char_p),
}
DTYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "U8": np.uint8}
one_at_a_time = threading.Lock()  # predict.h: one call at a time
opened = []


def library():
    with one_at_a_time:
        if not opened:
            loaded = ctypes.CDLL(path_of("libhogring.so.0"))
            for name, (result, *arguments) in CALLS.items():
                call = getattr(loaded, name)
                call.restype, call.argtypes = result, arguments
            opened.append(loaded)
    return opened[0]


def check(status, *plain):
    """plain: (path, what the caller calls it)"""
    if status != 0:
        line = library().hr_error_message().decode(errors="backslashreplace")
        for path, words in plain:
            line = line.replace(path, words)
        raise Error(line, library().hr_status_exit_code(status))


def as_numbers(names):
    """Class names as whole numbers where all are, as Python writes them: "01" stays a text."""
    whole = all(re.fullmatch("0|-?[1-9][0-9]{0,17}", name) for name in names)
    return np.array([int(name) for name in names] if whole else names)


class Model:
    """A trained model; it stays in memory whatever becomes of its file.

    kind ("probabilities", "scores" or "values"), classes (an array), features (names of columns, or
    []), values (names of what a regression predicts), layers, input (channels, height, width),
    step, checkpoint.
    """

    def __init__(self, path, layers=None):
        handle = c_void_p()
        text = layers and layers.encode()
        check(library().hr_predictor_open(os.fsencode(path), text, byref(handle)))
        self._handle = handle
        weakref.finalize(self, library().hr_predictor_close, handle)
        about = json.loads(library().hr_predictor_about(handle))
        self.layers, self.checkpoint, self.step = about["model"], about["checkpoint"], about["step"]
        self.kind, self.input = about["kind"], tuple(about["input"])
        self.features, self.values = about["features"], about["values"]
        self.classes = as_numbers(about["classes"])

    def _in_order(self, X):
        """A table's columns as the model knows them, by name."""
        names = columns_of(X)
        if not self.features or not names:
            return X
        missing = [name for name in self.features if name not in names]
        if missing:
            refuse(f"X: has no column {missing[0]!r}, which the model was trained on")
        return X if names == self.features else X[self.features]

    def _run(self, X):
        """(columns, answers) of X, an array, a table, or the path of a file."""
        fd = None
        if isinstance(X, (str, os.PathLike)):
            name = os.fspath(X)
        else:
            fd = in_memory(as_features(self._in_order(X)))
            name = f"/proc/self/fd/{fd}"
        samples, columns = c_size_t(), c_size_t()
        lib = library()
        try:
            with one_at_a_time:
                status = lib.hr_predictor_run(self._handle, os.fsencode(name))
                if status == 0:
                    what = "values" if self.kind == "values" else "columns"
                    given = getattr(lib, f"hr_predictor_{what}")(
                        self._handle, byref(samples), byref(columns)
                    )
                    answers = lib.hr_predictor_answers(self._handle)
                    numbers = np.ctypeslib.as_array(given, (samples.value, columns.value)).copy()
                    if not answers:
                        return numbers, None
                    return numbers, np.ctypeslib.as_array(answers, (samples.value,)).copy()
            check(status, (self.checkpoint, "this model"), *([] if fd is None else [(name, "X")]))
        finally:
            if fd is not None:
                os.close(fd)

    def predict(self, X):
        """The class of each sample; of a regression the values, float64, (n) or (n, k)."""
        columns, answers = self._run(X)
        if answers is None:
            return columns[:, 0] if columns.shape[1] == 1 else columns
        wrong = np.flatnonzero(answers >= len(self.classes))
        if len(wrong):
            raise Error(f"row {wrong[0]}: the model's output is not a number", 1)
        return self.classes[answers]

    def predict_proba(self, X):
        """(n, classes) float32, in the order of `classes`."""
        if self.kind != "probabilities":
            refuse(f"this model gives {self.kind}, and no probabilities")
        return self._run(X)[0]

    @property
    def weights(self):
        """Its tensors by name, copied."""
        lib, out = library(), {}
        name, dtype, shape, ndim = c_char_p(), c_char_p(), POINTER(c_size_t)(), c_size_t()
        while True:
            data = lib.hr_predictor_tensor(
                self._handle, len(out), byref(name), byref(dtype), byref(shape), byref(ndim)
            )
            if not data:
                return out
            kind, sizes = np.dtype(DTYPES[dtype.value.decode()]), tuple(shape[: ndim.value])
            memory = ctypes.string_at(data, int(np.prod(sizes)) * kind.itemsize)
            out[name.value.decode()] = np.frombuffer(memory, kind).reshape(sizes).copy()

    @property
    def weights_digest(self):
        """As the command's results have it."""
        flat = np.concatenate([tensor.ravel() for tensor in self.weights.values()]).astype(
            np.float32
        )
        out = ctypes.create_string_buffer(33)
        library().hr_digest_floats(flat.ctypes.data, flat.size, out)
        return out.value.decode()

    def __repr__(self):
        of = ", ".join(
            [*map(str, self.classes[:5]), *["..."][: len(self.classes) > 5]]
            or filter(None, self.values)
        )
        return f"<hogring.Model {self.layers}: {self.kind}{of and ' of ' + of}>"


def load(path, layers=None):
    """A checkpoint, a folder of them (its newest), or a .safetensors file; `layers`: of one that
    does not say them, as PyTorch's."""
    return Model(path, layers)
