"""digits_npy.py FOLDER: the digits of data/digits as X_train.npy (samples, 64; float32), y_train.npy, X_test.npy, y_test.npy."""
import gzip, sys
import numpy as np

for part, name in (("train", "train"), ("t10k", "test")):
    pixels, labels = (np.frombuffer(gzip.open(f"data/digits/{part}-{kind}-ubyte.gz").read(), np.uint8)
                      for kind in ("images-idx3", "labels-idx1"))
    np.save(f"{sys.argv[1]}/X_{name}.npy", (pixels[16:].reshape(-1, 64) / np.float32(16)).astype(np.float32))
    np.save(f"{sys.argv[1]}/y_{name}.npy", labels[8:].astype(np.int64))
