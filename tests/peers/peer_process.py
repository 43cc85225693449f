"""A peer's process (serve.py), seen from outside: a question, an answer, a limit in seconds."""
import json, os, select, signal, subprocess, time

from cells import end_with_parent


class Peer:
    def __init__(self, command, log, environment):
        self.log = open(log, "w")
        environment = {name: value for name, value in {**os.environ, **environment}.items() if not name.startswith("OPENBLAS_")}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=environment,
                                        start_new_session=True, preexec_fn=end_with_parent)

    def ask(self, question, limit):
        if self.process.poll() is not None:
            return {"error": f"ended with exit code {self.process.returncode} (see {self.log.name})"}
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": f"has ended (see {self.log.name})"}
        line, until = b"", time.monotonic() + limit
        while not line.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[0]:
                self.close()
                return {"error": f"no answer in {limit:.0f} s"}
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return {"error": f"has ended (see {self.log.name})"}
            line += piece
        return json.loads(line)

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # its workers, too
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdin.close(), self.process.stdout.close(), self.log.close()
