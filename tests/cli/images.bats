# Folders of PNG and JPEG files as data.
load support

make_digits() { python3 tests/support/digits_png.py "$TMP/digits"; }
digest() { hogring data info "$@" | sed -n 's/^digest *//p'; }
# a_png NAME BYTE WIDTH HEIGHT [LEVEL]: grey, all of one byte.
a_png() {
  mkdir -p "$(dirname "$1")"
  PYTHONPATH=tests/support python3 -c 'import sys, digits_png as d; n, b, w, h, *z = sys.argv[1:]
open(n, "wb").write(d.png(int(w), int(h), bytes([int(b)]) * (int(w) * int(h)), *map(int, z)))' "$@"
}
two_classes() { for c in ant bee; do a_png "$1/$c/1.png" 10 6 4 $2; a_png "$1/$c/2.png" 20 6 4 $2; done; }

@test "digits as PNG files train, are packed, saved and evaluated" {
  make_digits
  hogring data info "$TMP/digits" >"$TMP/info"
  grep -q "^shape     1x8x8 = 64 features, bytes times 0.00392157$" "$TMP/info"
  grep -q "^samples   1438 train, 359 test$" "$TMP/info"
  grep -q "^ *7 *136 train *43 test   7$" "$TMP/info"
  hogring data pack --data "$TMP/digits" --out "$TMP/packed" >"$TMP/out"
  [ "$(digest "$TMP/packed")" = "$(digest "$TMP/digits")" ]
  hogring train --data "$TMP/digits" --epochs 10 --expect accuracy=0.93 --checkpoint-dir "$TMP/saved" --quiet >"$TMP/out"
  hogring eval "$TMP/saved" --data "$TMP/digits" >"$TMP/out"
  hogring train --data "$TMP/digits" --model cnn --resize 12x10 --epochs 1 --quiet --json "$TMP/json" >"$TMP/out"
  [ "$(json "$TMP/json" 'd["config"]["data"]["options"]["resize"]')" = 12x10 ]
}

@test "the digest is of pixels: packed otherwise, named otherwise, in any number of threads" {
  two_classes "$TMP/a"
  two_classes "$TMP/b" 0 # not compressed
  [ -n "$(find "$TMP/a/ant/1.png" -size -"$(stat -c %s "$TMP/b/ant/1.png")"c)" ]
  for f in "$TMP"/b/*/1.png; do mv "$f" "${f%1.png}1.jpg"; done # what it is stands in its bytes
  [ "$(digest "$TMP/a")" = "$(digest "$TMP/b")" ]
  make_digits
  one=$(HOGRING_CPUS=1 digest "$TMP/digits")
  [ "$(HOGRING_CPUS=7 digest "$TMP/digits")" = "$one" ]
}

@test "classes are sorted as text, files by folder and name, and folders inside belong to their class" {
  for c in 10 9 Zoo ant; do
    a_png "$TMP/d/train/$c/x/b.png" 2 2 2
    a_png "$TMP/d/train/$c/z.PNG" 1 2 2
    a_png "$TMP/d/train/$c/x-y/c.jpeg" 3 2 2 # '-' stands before '/'
    a_png "$TMP/d/train/$c/x/z/d.png" 4 2 2
  done
  cp -r "$TMP/d/train" "$TMP/d/val"
  hogring data info "$TMP/d" --json "$TMP/json" >"$TMP/info"
  [ "$(json "$TMP/json" '" ".join(d["class_names"])')" = "10 9 Zoo ant" ]
  hogring data pack "$TMP/d" --out "$TMP/p" >"$TMP/out"
  python3 - "$TMP/p" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
offset, = struct.unpack_from("<Q", data, 88)
assert list(data[offset:offset + 64:4]) == [1, 2, 3, 4] * 4, list(data[offset:offset + 64:4])
END
}

@test "what is passed over is counted aloud" {
  two_classes "$TMP/d/train"
  two_classes "$TMP/d/test"
  rm -r "$TMP/d/test/bee"
  touch "$TMP/d/train/ant/.hidden.png" "$TMP/d/train/ant/notes.txt" "$TMP/d/train/readme" && mkdir "$TMP/d/train/.cache"
  ln -s .. "$TMP/d/train/bee/loop"
  ln -s ../ant/1.png "$TMP/d/train/bee/link.png"
  hogring data info "$TMP/d" >"$TMP/info" 2>"$TMP/err"
  grep -q "train: 5 pictures, left out: 2 that are no PNG or JPEG of a class" "$TMP/err" || { cat "$TMP/err"; return 1; }
  grep -q ", 2 hidden, 1 symlink that leads back" "$TMP/err"
  grep -q "test: 2 pictures; 1 of the training samples' classes is not there" "$TMP/err"
  grep -q "^samples   5 train, 2 test" "$TMP/info"
}

@test "folders that are no data are refused with the place" {
  two_classes "$TMP/d"
  a_png "$TMP/d/bee/3.png" 1 6 5
  refused 3 "3.png: is 6x5 (width x height), $TMP/d/ant/1.png is 6x4; expected one size, or --resize" data info "$TMP/d"
  hogring data info "$TMP/d" --resize 4x4 >"$TMP/out"
  refused 2 "--resize 4: expected HEIGHTxWIDTH" data info "$TMP/d" --resize 4
  refused 2 "--resize: is not supported for idx data" data info digits --resize 4x4
  refused 2 "--max-data: is no longer there; --max-memory bounds pictures, too" data info "$TMP/d" --resize 4x4 --max-data 60
  for c in cat dog; do a_png "$TMP/large/$c/1.png" 1 3000 3000; done
  refused 3 "large: needs 17 MiB of memory" data info "$TMP/large" --max-memory 16M
  # Pixels are there once, held-out ones too; a sanitizer takes more.
  [ "${HOGRING:-build/hogring}" != build/hogring ] || hogring data info "$TMP/large" --max-memory 30M >/dev/null
  a_png "$TMP/flat/1.png" 1 2 2
  refused 3 "they stand beside one another; expected a folder for each class" data info "$TMP/flat"
  a_png "$TMP/one/cat/1.png" 1 2 2
  refused 3 "has one class, cat" data info "$TMP/one"
  mkdir "$TMP/one/dog"
  refused 3 "one/dog: has no PNG or JPEG, expected some of each class" data info "$TMP/one"
  mkdir -p "$TMP/ef/cat" "$TMP/ef/dog"
  refused 3 "ef: its class folders have no PNG or JPEG images" data info "$TMP/ef"
  two_classes "$TMP/s/train"
  two_classes "$TMP/s/test"
  a_png "$TMP/s/test/cow/1.png" 1 6 4
  refused 3 "s/test/cow: $TMP/s/train has no such class; --classes lists all" data info "$TMP/s"
  hogring data info "$TMP/s" --classes ant,bee,cow >"$TMP/out"
  refused 2 "--test X: is not supported where there is $TMP/s/test" data info "$TMP/s" --test 0.5
}

@test "files that are no pictures are refused, whichever thread finds them" {
  make_digits
  d=$TMP/digits/train/4
  first=$(find "$d" -name '*.png' | sort | head -1)
  head -c 60 "$first" >"$d/cut.png"
  refused 3 "4/cut.png: is a damaged PNG: it ends too early" data info "$TMP/digits"
  echo "<html>" >"$d/cut.png"
  refused 3 "4/cut.png: is neither by its first bytes, expected a PNG or JPEG" data info "$TMP/digits"
  : >"$d/cut.png"
  refused 3 "4/cut.png: is empty, expected a PNG or JPEG" data info "$TMP/digits"
  echo junk >"$TMP/digits/train/9/zz.png" # the first of two
  refused 3 "4/cut.png: is empty" data info "$TMP/digits"
  # or they are left out, counted, and the first is named; the others are those that there were
  local skip='d["config"]["data"]["skipped"], d["config"]["data"]["train"] + d["config"]["data"]["test"], d["runs"][0]["weights_digest"]'
  hogring train --data "$TMP/digits" --skip-bad-images --model softmax --epochs 1 --workers 1 --json "$TMP/skip.json" --checkpoint-dir "$TMP/skip" >/dev/null 2>"$TMP/err"
  grep -q '2 that are damaged (.*4/cut.png: is empty' "$TMP/err"
  hogring eval "$TMP/skip" --json "$TMP/eval.json" >/dev/null # as training read them
  [ "$(json "$TMP/eval.json" 'd["skipped"]')" = 2 ]
  head -c 60 "$first" >"$TMP/digits/cut.png"
  mv "$TMP/digits/cut.png" "$TMP/digits/train/9/zz.png" # its head is whole, its pixels are not
  hogring predict "$TMP/skip" --data "$TMP/digits/train/9" --skip-bad-images --out "$TMP/answers.csv" >/dev/null 2>"$TMP/err"
  grep -q '1 left out, damaged (.*9/zz.png' "$TMP/err"
  [ "$(grep -c png "$TMP/answers.csv")" = "$(find "$TMP/digits/train/9" -name '*.png' ! -name zz.png | wc -l)" ]
  refused 2 "--skip-bad-images: is not supported for idx data" train --data digits --skip-bad-images --quiet
  rm "$d/cut.png" "$TMP/digits/train/9/zz.png"
  hogring train --data "$TMP/digits" --model softmax --epochs 1 --workers 1 --json "$TMP/whole.json" --quiet >/dev/null
  [ "$(json "$TMP/skip.json" "$skip" | cut -d, -f2-)" = "$(json "$TMP/whole.json" "$skip" | cut -d, -f2-)" ]
  mkfifo "$d/pipe.png"
  refused 3 "4/pipe.png" data info "$TMP/digits"
  rm "$d/pipe.png"
  ln -s nowhere "$d/lost.png"
  refused 3 "4/lost.png" data info "$TMP/digits"
  rm "$d/lost.png"
  [ "$(id -u)" != 0 ] || skip "root reads every file"
  chmod 0 "$first"
  refused 3 "$first" data info "$TMP/digits"
}

@test "new pictures get answers, in a folder or one" {
  make_digits
  hogring train --data "$TMP/digits" --epochs 10 --checkpoint-dir "$TMP/saved" --quiet >"$TMP/out"
  mkdir "$TMP/new"
  cp "$TMP"/digits/test/3/*.png "$TMP/new"
  hogring predict "$TMP/saved" --data "$TMP/new" --out "$TMP/answers.csv" >"$TMP/out" 2>"$TMP/err"
  [ ! -s "$TMP/err" ] || { cat "$TMP/err"; return 1; }
  head -1 "$TMP/answers.csv" | grep -qx "row,file,class,probability,0,1,2,3,4,5,6,7,8,9"
  sed -n 2p "$TMP/answers.csv" | grep -q "^1,$(find "$TMP/new" -name '*.png' | sort | head -1),"
  [ "$(grep -c ',3,' "$TMP/answers.csv")" -ge 40 ] # of 52
  a_png "$TMP/large/x.png" 0 30 20
  hogring predict "$TMP/saved" --data "$TMP/large/x.png" 2>"$TMP/err" | grep -q "^1,$TMP/large/x.png,"
  grep -q "x.png: 1 picture, 1 brought to the model's 8x8" "$TMP/err"
  hogring eval "$TMP/saved" --data "$TMP/digits" --json "$TMP/eval" >"$TMP/out"
  hogring predict "$TMP/saved" --data "$TMP/digits" 2>&1 | grep -q "these are its 359 test samples"
  hogring train --model softmax --data digits --epochs 1 --checkpoint-dir "$TMP/other" --quiet >"$TMP/out"
  echo junk >"$TMP/new/0.png"
  refused 3 "$TMP/new/0.png: is neither" predict "$TMP/other" --data "$TMP/new"
}

@test "Pillow decodes the same pixels, and resizes to the same" {
  python=${PYTHON:-python3}
  "$python" -c 'import numpy, PIL' 2>/dev/null || skip "no NumPy or no Pillow (PYTHON= names another Python)"
  HOGRING=${HOGRING:-build/hogring} "$python" tests/support/compare_pillow.py "$TMP"
}
