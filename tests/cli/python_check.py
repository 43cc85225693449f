"""What the Python package promises: run in an environment that has it."""
import contextlib, io, os, re, signal, subprocess, sys, tempfile, threading, time, unittest
from pathlib import Path
import numpy as np, pandas as pd
import hogring

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 2))
Y = np.where((X ** 2).sum(axis=1) < 0.6, "inside", "outside")
NET = "flatten, dense 8, relu, dense 2"
QUICK = {"model": NET, "epochs": 2, "workers": 2, "progress": False}
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts with & ignores it

def children():
    """Commands that this process has started, by number."""
    with open(f"/proc/self/task/{threading.main_thread().native_id}/children") as file:
        return [int(number) for number in file.read().split()]

class Arrays(unittest.TestCase):
    def digest(self, x, y=Y, **options):
        return hogring.train(x, y, **{**QUICK, **options}).weights_digest

    def test_layout_of_an_array_changes_no_bit(self):
        wide = np.zeros((800, 4)); wide[::2, ::2] = X
        want = self.digest(X)
        for same in (np.asfortranarray(X), wide[::2, ::2], X.astype(">f8"), X.tolist(), pd.DataFrame(X), pd.DataFrame(X, columns=["a", "b"])):
            self.assertEqual(self.digest(same), want)
        read_only = X.copy(); read_only.flags.writeable = False
        self.assertEqual(self.digest(read_only), want)

    def test_labels_of_any_kind_are_the_same_classes(self):
        want, numbers = self.digest(X), (Y == "outside")
        for labels in (Y.astype(object), Y.astype("S"), Y.tolist(), pd.Series(Y), pd.Series(Y, dtype="category"), pd.Series(Y, dtype="string"),
                       numbers, numbers.astype(np.uint8), numbers.astype(float), Y[:, None]):
            self.assertEqual(self.digest(X, labels), want)

    def test_classes_come_back_as_they_were_given(self):
        for names in (["07", "1"], ["7", "1"], ["a\u00b2", "\u00b2"]):
            labels = np.where(Y == "outside", *names)
            model = hogring.train(X, labels, **QUICK).model
            numbers = names == ["7", "1"]
            self.assertEqual(sorted(model.classes.tolist()), sorted(map(int, names) if numbers else names))

    def test_digests_are_the_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            data = folder + "/data"
            os.mkdir(data)
            np.save(f"{data}/X_train.npy", X.astype(np.float32)); np.save(f"{data}/y_train.npy", Y)
            for kind, strategy in (("train", "ps-sync"), ("compare", "allreduce,ps-sync")):
                options = ["--model", NET, "--epochs", "2", "--workers", "2", "--json", f"{folder}/{kind}.json", "--quiet"]
                flag = "--strategy" if kind == "train" else "--strategies"
                subprocess.run([os.environ["HOGRING_COMMAND"], kind, "--data", data, flag, strategy, *options], check=True, stdout=subprocess.DEVNULL)
            train, compare = (pd.read_json(f"{folder}/{kind}.json", orient="index", typ="series")["runs"] for kind in ("train", "compare"))
        run = hogring.train(X.astype(np.float32), Y, strategy="ps-sync", **QUICK)
        self.assertEqual(run.weights_digest, train[0]["weights_digest"])
        self.assertEqual(run.model.weights_digest, run.weights_digest)
        table = hogring.compare(X.astype(np.float32), Y, ["allreduce", "ps-sync"], **QUICK)
        self.assertEqual(list(table.runs.weights_digest), [record["weights_digest"] for record in compare])

    def test_images_bytes_values_and_a_test_split(self):
        images = RNG.integers(0, 255, (60, 6, 6), dtype=np.uint8)
        run = hogring.train(images, np.arange(60) % 3, X_test=images[:9], y_test=np.arange(9) % 3, model="flatten, dense 3", epochs=1, progress=False)
        self.assertEqual((run.test_samples, run.model.input), (9, (1, 6, 6)))
        self.assertEqual(run.model.predict(images).dtype.kind, "i")
        run = hogring.train(X, X @ [3, 1], task="regress", **{**QUICK, "model": "flatten, dense 1"})
        self.assertEqual(run.model.predict(X).shape, (400,))
        stamps = 1.7e9 + 20 * X[:, 0]
        run = hogring.train(X, stamps, task="regress", **{**QUICK, "model": "flatten, dense 1", "epochs": 20})
        self.assertLess(np.std(run.model.predict(X) - stamps), 0.1 * np.std(stamps))
        self.assertEqual(hogring.train(X, X * 2, task="regress", **QUICK).model.predict(X).shape, (400, 2))
        with self.assertRaisesRegex(hogring.Error, "gives values, and no probabilities"):
            run.model.predict_proba(X)

    def test_what_cannot_be_is_said_in_the_callers_words(self):
        bad = X.copy(); bad[7, 1] = np.nan
        frame = pd.DataFrame({"a": X[:, 0], "city": Y})
        for x, y, line in ((bad, Y, "^X: row 7, column 1 is nan"), (X, Y[1:], r"y: has shape \(399,\)"), (X[:, 0], Y, r"X: has shape \(400,\)"),
                           (frame, Y, "X: column 'city' holds no numbers"), (X.astype(complex), Y, "X: holds complex128"), (X, None, "y is missing"),
                           ([[1, 2], [3]], [0, 1], "^X: "), (X, [None] * 400, "y: row 0 is missing"), (X[:0], Y[:0], "X: has no elements"),
                           (X, pd.date_range("2020", periods=400), "y: holds datetime"), ("digits", None, "data='digits'"),
                           (X, RNG.normal(size=400), "look like values"), (None, Y, "X is missing")):
            with self.assertRaisesRegex(hogring.Error, line):
                hogring.train(x, y, **QUICK)

class Models(unittest.TestCase):
    def test_a_model_goes_by_the_names_of_columns(self):
        frame = pd.DataFrame(X, columns=["east", "Nörd, m"])
        model = hogring.train(frame, Y, **QUICK).model
        self.assertEqual(model.features, ["east", "Nörd, m"])
        want = model.predict(X)
        for table in (frame, frame[["Nörd, m", "east"]], frame.assign(city="x")):
            self.assertTrue((model.predict(table) == want).all())
        with self.assertRaisesRegex(hogring.Error, "X: has no column 'east'"):
            model.predict(frame[["Nörd, m"]])
        with self.assertRaisesRegex(hogring.Error, r"X: its samples are 3x1x1 .* as this model was trained on"):
            model.predict(np.zeros((2, 3)))

    def test_probabilities_are_the_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            model = hogring.train(X, Y, checkpoint_dir=folder + "/c", **QUICK).model
            np.save(folder + "/X.npy", X)
            subprocess.run([os.environ["HOGRING_COMMAND"], "predict", folder + "/c", "--data", folder + "/X.npy", "--out", folder + "/p.npy"],
                           check=True, stdout=subprocess.DEVNULL)
            want = np.load(folder + "/p.npy")
            self.assertTrue((hogring.load(folder + "/c").predict_proba(folder + "/X.npy") == want).all())
        self.assertTrue((model.predict_proba(X) == want).all())  # its file is gone
        self.assertTrue((model.predict(X) == model.classes[want.argmax(axis=1)]).all())
        self.assertEqual({name: w.shape for name, w in model.weights.items()}, {"1.weight": (8, 2), "1.bias": (8,), "3.weight": (2, 8), "3.bias": (2,)})
        with self.assertRaises(hogring.Error) as raised:
            hogring.load("/there/is/none")
        self.assertEqual(raised.exception.exit_code, 3)

    def test_many_threads_may_predict(self):
        model, wrong = hogring.train(X, Y, **QUICK).model, []
        want = model.predict_proba(X)
        def work():
            wrong.extend(not (model.predict_proba(X) == want).all() for _ in range(5))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        self.assertEqual(wrong, [False] * 20)

class Runs(unittest.TestCase):
    def test_a_comparison_is_a_table_with_a_verdict(self):
        table = hogring.compare(X, Y, ["allreduce", "hogwild"], seeds=2, **QUICK)
        self.assertIsInstance(table, pd.DataFrame)
        self.assertEqual(list(table.index), ["allreduce direct", "hogwild"])
        self.assertIn("hogring.compare(..., tune=True", table.verdict)
        self.assertEqual(table.attrs["verdict"], table.verdict)
        self.assertEqual((len(table.runs), len(table.curves), set(table.curves.seed)), (4, 8, {1, 2}))
        self.assertIs(type(table.sort_values("seconds")), pd.DataFrame)
        self.assertIn("<p>", table._repr_html_())
        self.assertIn(table.verdict, repr(table))

    def test_options_are_the_commands_and_its_line_is_the_exception(self):
        run = hogring.train(X, Y, lr=np.float64(0.1), optimizer="sgd:nesterov", normalize=False, seed=np.int64(3), clip_norm=None, **QUICK)
        self.assertEqual((run.lr, run.seed, run.document["given"]["nesterov"]), (0.1, 3, "on"))
        for options, code, line in (({"bogus": 1}, 2, "^--bogus: unknown option"), ({"device": "cuda"}, 2, "there is no code for GPUs"),
                                    ({"model": "transformer"}, 2, "the transformers here"), ({"expect": "accuracy=1.1"}, 2, "expect accuracy"),
                                    ({"data": "digits"}, 2, "X and data"), ({"expect": "digest=" + "0" * 32}, 1, "digest")):
            with self.assertRaisesRegex(hogring.Error, line) as raised:
                hogring.train(X, Y, **{**QUICK, **options})
            self.assertEqual(raised.exception.exit_code, code)
        self.assertEqual(raised.exception.document["runs"][0]["updates"], run.updates)

    def test_a_comparison_that_failed_in_part_has_what_there_is(self):
        with self.assertRaisesRegex(hogring.Error, "^allreduce.*, seed 1: .*not finite") as raised:
            hogring.compare(X, Y, ["allreduce:lr=1000", "hogwild"], **{**QUICK, "epochs": 5, "model": "mlp"})
        self.assertEqual(list(hogring.Comparison.of(raised.exception.document).index), ["hogwild"])

    def test_progress_stays_in_lines_that_are_read_elsewhere(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            hogring.compare(X, Y, ["allreduce", "ps-sync"], **{**QUICK, "progress": True})
        self.assertEqual([line[:10] for line in said.getvalue().splitlines()], ["run 1 of 2", "run 2 of 2"])

    def test_json_and_help(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            hogring.train(X, Y, json=folder + "/run.json", **QUICK)
            self.assertIn('"weights_digest"', Path(folder, "run.json").read_text())
            hogring.help("save the best model")
        self.assertIn("--keep", said.getvalue())

class Ends(unittest.TestCase):
    """Each waits until the child trains, which it says in its log."""
    def endless(self, end):
        with tempfile.TemporaryDirectory() as folder:
            def wait_and_end():
                log = Path(folder, "log")
                while not log.exists() or b"evaluation" not in log.read_bytes():
                    time.sleep(0.02)
                self.child, = children()
                end(self.child)
            thread = threading.Thread(target=wait_and_end)
            thread.start()
            try:
                hogring.train(X, Y, **{**QUICK, "epochs": 10**6, "log": folder + "/log,every=1000000", "checkpoint_dir": folder + "/c"})
            finally:
                thread.join()
                self.saved = os.path.exists(folder + "/c/latest")

    def test_ctrl_c_ends_the_child_which_saves_first(self):
        with self.assertRaises(KeyboardInterrupt):
            self.endless(lambda child: os.kill(os.getpid(), signal.SIGINT))
        self.assertEqual(children(), [])
        self.assertTrue(self.saved)

    def test_a_killed_child_is_an_error(self):
        for number, code in ((signal.SIGKILL, -9), (signal.SIGTERM, 143)):
            with self.assertRaises(hogring.Error) as raised:
                self.endless(lambda child: os.kill(child, number))
            self.assertEqual(raised.exception.exit_code, code)
        self.assertEqual(children(), [])

    def test_shared_memory_that_is_not_to_be_had(self):
        from unittest import mock
        with mock.patch("tempfile.mkdtemp", side_effect=PermissionError(13, "Permission denied")):
            for call in (lambda: hogring.train(X, Y, **QUICK), lambda: hogring.compare(X, Y, **QUICK)):
                with self.assertRaisesRegex(hogring.Error, "^/dev/shm: Permission denied; expected"):
                    call()

    def test_the_next_run_removes_what_a_killed_program_left(self):
        program = "from hogring._arrays import folder_in_memory; f = folder_in_memory(); print(f.name, flush=True); input()"
        child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        left = child.stdout.readline().strip()
        elsewhere = re.sub(r"-\d+-(\w+)$", r"-1-\1", left)  # of another container
        os.mkdir(elsewhere)
        os.symlink("/", left + "x")
        try:
            hogring.train(X, Y, **QUICK)
            self.assertTrue(os.path.isdir(left))
            child.kill()
            child.wait()
            self.assertTrue(os.path.isdir(left))
            hogring.train(X, Y, **QUICK)
            self.assertEqual([os.path.lexists(path) for path in (left, elsewhere, left + "x")], [False, True, True])
        finally:
            child.kill()
            child.communicate()
            os.unlink(left + "x")
            os.rmdir(elsewhere)

    def test_titles_name_no_folder_of_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            hogring.train(X, Y, report=folder + "/page.html", **QUICK)
            title = re.search("<title>(.*?)</title>", Path(folder, "page.html").read_text())[1]
        self.assertIn(" on arrays ", title)

    def test_nothing_stays_in_memory(self):
        hogring.train(X, Y, **QUICK)
        with self.assertRaises(hogring.Error):
            hogring.train(X, Y, bogus=1, **QUICK)
        self.assertEqual([name for name in os.listdir("/dev/shm") if name.startswith(f"hogring-python-{os.getpid()}-")], [])

unittest.main(argv=[sys.argv[0], "--failfast", *sys.argv[1:]])
