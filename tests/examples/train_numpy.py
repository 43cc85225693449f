#!/usr/bin/env python3
"""train_numpy.py - data-parallel training from Python: ctypes for the calls, NumPy views for the arrays.

    python3 train_numpy.py FOLDER [RANKS]      needs NumPy, and libhogring.so.0 where the loader finds it

FOLDER has X_train.npy (samples, columns; float32), y_train.npy, X_test.npy, y_test.npy. Parameters and gradients are NumPy arrays over
memory that all ranks reach, so nothing is copied between Python, the library and the other ranks, which are processes of fork(). It
gives the weights, to the bit, of
    hogring train --data FOLDER --model "flatten, dense 32, relu, dense 10" --epochs 5 --strategy allreduce --workers RANKS --global-batch-size 32
"""
import os, sys
from ctypes import CDLL, POINTER, Structure, byref, c_char, c_char_p, c_double, c_float, c_int, c_size_t, c_uint64, c_void_p
import numpy as np

EPOCHS, BATCH, SEED, FLOAT32, SUM, EVALUATE = 5, 32, 1, 0, 0, 0
LR, MOMENTUM = np.float32(0.05), np.float32(0.9)
hogring = CDLL("libhogring.so.0")
hogring.hr_error_message.restype = c_char_p
hogring.hr_net_params.restype = c_size_t
hogring.hr_world_leave.restype = None
hogring.hr_digest_floats.restype = None

# --- structs of group.h and model.h

class Shape(Structure):
    _fields_ = [(name, c_size_t) for name in ("channels", "height", "width")]

class NetOptions(Structure):
    _fields_ = [("layers", c_char_p), ("input", Shape), ("classes", c_size_t), ("loss", c_char_p), ("label_smoothing", c_double),
                ("targets", c_size_t), ("huber_delta", c_double)]

class Batch(Structure):
    _fields_ = [("count", c_size_t), ("x", c_void_p), ("labels", c_void_p), ("epoch", c_uint64), ("samples", c_void_p),
                ("targets", c_void_p)]

class Result(Structure):
    _fields_ = [("loss", c_double), ("correct", c_size_t)]

class View(Structure):
    _fields_ = [("name", c_char_p), ("ndim", c_size_t), ("shape", c_size_t * 4), ("count", c_size_t), ("offset", c_size_t),
                ("data", POINTER(c_float)), ("trained", c_int)]

class WorldOptions(Structure):
    _fields_ = [("nranks", c_size_t), ("launch", c_char_p), ("algorithm", c_char_p), ("transport", c_char_p), ("link", c_char_p),
                ("topology", c_char_p), ("slower", c_double), ("group_size", c_size_t), ("max_groups", c_size_t),
                ("arena_bytes", c_size_t), ("timeout", c_double), ("pin", c_int)]

def check(status):
    if status != 0:
        raise RuntimeError(hogring.hr_error_message().decode())

def at(array):
    return array.ctypes.data_as(c_void_p)

def shared(world, count, kind=np.float32):
    """A zeroed array in memory that all ranks reach."""
    memory = c_void_p()
    bytes_ = count * np.dtype(kind).itemsize
    check(hogring.hr_group_alloc(world, c_size_t(bytes_), byref(memory)))
    return np.frombuffer((c_char * bytes_).from_address(memory.value), dtype=kind)

class Network:
    """One rank's network: parameters and gradients as arrays, and as named views of them."""
    def __init__(self, world, layers, features):
        options, self.net, size, self.space = NetOptions(layers, Shape(features, 1, 1)), c_void_p(), c_size_t(), c_void_p()
        check(hogring.hr_net_open(byref(options), byref(self.net)))
        self.n = c_size_t(hogring.hr_net_params(self.net))
        self.params, self.grads = shared(world, self.n.value), shared(world, self.n.value)
        check(hogring.hr_net_space_bytes(self.net, c_size_t(BATCH), None, byref(size)))
        self.memory = np.empty(size.value, np.uint8)
        check(hogring.hr_net_space_open(self.net, c_size_t(BATCH), None, at(self.memory), size, byref(self.space)))
        check(hogring.hr_net_init(self.net, c_uint64(SEED), at(self.params), self.n))

    def __getitem__(self, name):
        view = View()
        check(hogring.hr_net_find(self.net, name.encode(), None, c_size_t(0), byref(view)))
        return self.params[view.offset:view.offset + view.count].reshape(view.shape[:view.ndim])

    def gradient(self, x, y, epoch, samples):
        batch = Batch(len(y), at(x), at(y), epoch, at(samples), None)
        check(hogring.hr_net_gradient(self.space, at(self.params), self.n, byref(batch), at(self.grads), None))

    def correct(self, x, y):
        result, batch = Result(), Batch(len(y), at(x), at(y), 0, None, None)
        check(hogring.hr_net_forward(self.space, at(self.params), self.n, byref(batch), c_int(EVALUATE), None))
        check(hogring.hr_net_loss(self.space, byref(result)))
        return result.correct

def train(world, rank, ranks, folder):
    x, y, x_test, y_test = (np.load(f"{folder}/{name}.npy") for name in ("X_train", "y_train", "X_test", "y_test"))
    x, y, x_test, y_test = x.astype(np.float32), y.astype(np.uint32), x_test.astype(np.float32), y_test.astype(np.uint32)
    network = Network(world, b"flatten, dense 32, relu, dense 10", x.shape[1])
    velocity, order = np.zeros_like(network.params), np.empty(len(y), np.uint32)
    for epoch in range(EPOCHS):
        check(hogring.hr_dataset_order(c_uint64(SEED), c_uint64(epoch), c_size_t(len(y)), c_size_t(0), c_size_t(len(y)), at(order)))
        for first in range(0, len(y), BATCH):
            batch = order[first:first + BATCH]
            mine = np.array_split(batch, ranks)[rank]  # shares that differ by one at most
            network.gradient(x[mine], y[mine], epoch, mine)
            check(hogring.hr_all_reduce(world, at(network.grads), at(network.grads), network.n, c_int(FLOAT32), c_int(SUM)))
            velocity[:] = MOMENTUM * velocity + network.grads * np.float32(1 / len(batch))
            network.params -= LR * velocity  # in place: the library reads this very memory
    if rank == 0:
        right = sum(network.correct(x_test[i:i + BATCH], y_test[i:i + BATCH]) for i in range(0, len(y_test), BATCH))
        digest = (c_char * 33)()
        hogring.hr_digest_floats(at(network.params), network.n, digest)
        print(f"test accuracy {100 * right / len(y_test):.2f} %, weights {digest.value.decode()}")
        print(f"first layer {network['1.weight'].shape}, norm {np.linalg.norm(network['1.weight']):.3f}")

def main():
    folder, ranks = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2
    os.environ.update(WORLD_SIZE=str(ranks), HOGRING_RUN=f"numpy-{os.getpid()}")
    for rank in range(1, ranks):
        if os.fork() == 0:
            break
    else:
        rank = 0
    os.environ["RANK"] = str(rank)
    world, options = c_void_p(), WorldOptions()
    check(hogring.hr_world_join(byref(options), byref(world)))
    try:
        train(world, rank, ranks, folder)
    except BaseException:
        hogring.hr_world_leave(world, c_int(-1))  # the others stop, too
        raise
    hogring.hr_world_leave(world, c_int(0))

main()
