"""compare_pillow.py FOLDER: pictures of all kinds, decoded by Pillow and by hogring, have one digest. HOGRING names the command.

Pillow's pixels are written as npy files; a data set's digest is over pixels and labels, whatever the format. Resized pictures are
compared to one grey level by way of packed files, because Pillow 13 resizes columns first where that is cheaper."""
import os, struct, subprocess, sys
from pathlib import Path
import numpy as np
from PIL import Image

HOGRING, HERE = os.environ["HOGRING"], Path(sys.argv[1])
rng = np.random.default_rng(1)

def picture(height, width, channels):
    y, x = np.mgrid[0:height, 0:width]
    planes = [127 + 90 * np.sin(x / 7 + k) + 30 * np.cos(y / 5 * k + 1) + rng.normal(0, 9, (height, width)) for k in range(channels)]
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)

def hogring(*words):
    return subprocess.run([HOGRING, "data", *map(str, words)], check=True, capture_output=True, text=True).stdout

def digest(folder):
    return hogring("info", folder).split()[-1]

def write(name, files):
    """files: {file name: function that saves}; two classes of them, in both splits."""
    for split in ("train", "test"):
        for label in "ab":
            folder = HERE / name / split / label
            folder.mkdir(parents=True)
            for file, save in files.items():
                save(folder / file)

def pillow(path, mode):
    image = Image.open(path)
    if image.mode.startswith("I"):  # 16 bits: Pillow cuts values off, we take the upper eight bits
        image = Image.fromarray((np.array(image).astype(np.uint32) >> 8).astype(np.uint8))
    return image.convert(mode)

def planes(image):
    pixels = np.array(image)
    return pixels[None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)

def same(name, files, mode):
    write(name, files)
    (HERE / "npy").mkdir(exist_ok=True)
    for split in ("train", "test"):
        paths = sorted((HERE / name / split).glob("*/*"))
        np.save(HERE / "npy" / f"X_{split}.npy", np.ascontiguousarray(np.stack([planes(pillow(p, mode)) for p in paths])))
        np.save(HERE / "npy" / f"y_{split}.npy", np.array(["ab".index(p.parent.name) for p in paths]))
    assert digest(HERE / name) == digest(HERE / "npy"), name

def resized(name, files, mode, height, width):
    write(name, files)
    hogring("pack", HERE / name, "--out", HERE / "packed", "--resize", f"{height}x{width}")
    paths = sorted((HERE / name / "train").glob("*/*"))
    wanted = np.stack([planes(pillow(p, mode).resize((width, height), Image.BILINEAR)) for p in paths]).astype(int)
    data = (HERE / "packed").read_bytes()
    offset, = struct.unpack_from("<Q", data, 88)
    ours = np.frombuffer(data, np.uint8, wanted.size, offset).reshape(wanted.shape)
    difference = np.abs(wanted - ours).max()
    assert difference <= 1, (name, difference)
    print(f"{name}: at most {difference} apart")

def saves(image, **how):
    return lambda path: image.save(path, **how)

def main():
    grey, rgb, rgba = (Image.fromarray(picture(19, 23, n).squeeze()) for n in (1, 3, 4))
    two = Image.merge("LA", (grey, grey))
    deep = Image.fromarray(picture(19, 23, 1).squeeze().astype(np.uint16) * 251)
    for name, image, mode in (("L", grey, "L"), ("RGB", rgb, "RGB"), ("RGBA", rgba, "RGB"), ("LA", two, "L"), ("1", grey.convert("1"), "L"),
                              ("P", rgb.quantize(17), "RGB"), ("I16", deep, "L")):
        same(f"png-{name}", {"x.png": saves(image)}, mode)
    same("png-P-clear", {"x.png": saves(rgb.quantize(9), transparency=3, bits=4)}, "RGB")
    same("mixed", {"1.png": saves(grey), "2.png": saves(rgb), "3.png": saves(two), "4.jpg": saves(grey)}, "RGB")
    for quality in (30, 95):
        for subsampling in (0, 1, 2):
            same(f"jpeg-{quality}-{subsampling}", {f"{p}.jpg": saves(rgb, quality=quality, subsampling=subsampling, progressive=p)
                                                  for p in (False, True)}, "RGB")
        same(f"jpeg-{quality}-grey", {"x.jpeg": saves(grey, quality=quality)}, "L")
    for height, width in ((8, 8), (5, 31), (19, 7), (7, 23), (40, 50), (1, 1)):
        resized(f"to-{height}-{width}", {"1.png": saves(grey), "2.png": saves(rgb.resize((47, 30)))}, "RGB", height, width)

main()
