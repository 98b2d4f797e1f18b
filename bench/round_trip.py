"""How much longer `1+1` takes in perdure than in plain ipykernel, from request to reply and idle (DESIGN §10).

Three kernels are up at once: perdure's, plain ipykernel, and a second plain one. Every round asks all three, in every
order in turn, so that what the machine does meanwhile, and what a kernel does after its reply, hits all alike. The
second plain kernel calibrates: what is told of it is noise. Exits with 1 only if the whole 95 % interval lies above
the must.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import sys
import tempfile
from _statistics import estimate, verdict
from pathlib import Path
from statistics import median
from time import perf_counter

import zmq

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.kernel.driver import PERDURE, STOCK, Kernel
from tests.kernel.home import Home

MUST, GOAL = 0.3, 0.0  # milliseconds over plain ipykernel
CODE = "1+1"
KERNELS = {"ipykernel": STOCK, "ipykernel, a second one": STOCK, "perdure": PERDURE}


class Asker:
    """Asks one kernel, with as little around the sockets as can be: no message is read but for its kind."""

    def __init__(self, kernel: Kernel) -> None:
        client = kernel.client
        self._session = client.session
        self._shell, self._iopub = client.shell_channel.socket, client.iopub_channel.socket
        self._poller = zmq.Poller()
        self._poller.register(self._shell, zmq.POLLIN)
        self._poller.register(self._iopub, zmq.POLLIN)

    def ask(self, kind: str, content: dict[str, object]) -> float:
        """Milliseconds until both the reply and the idle status are there."""
        message = self._session.msg(kind, content)
        asked = f'"{message["header"]["msg_id"]}"'.encode()
        replied = idle = False
        start = perf_counter()
        self._session.send(self._shell, message)
        while not (replied and idle):
            for socket, _ in self._poller.poll():
                frames = socket.recv_multipart()
                if not any(asked in frame for frame in frames):
                    continue  # what another request left
                if socket is self._shell:
                    replied = True
                else:
                    idle = idle or any(b'"execution_state": "idle"' in frame for frame in frames)
        return (perf_counter() - start) * 1000


def measure(askers: dict[str, Asker], rounds: int, kind: str, content: dict[str, object]) -> dict[str, list[float]]:
    samples: dict[str, list[float]] = {name: [] for name in askers}
    orders = itertools.cycle(itertools.permutations(askers))
    for order in itertools.islice(orders, rounds):
        for name in order:
            samples[name].append(askers[name].ask(kind, content))
    return samples


def table(title: str, samples: dict[str, list[float]]) -> None:
    plain, *others = samples
    print(f"\n{title}, ms")
    print(f"  {'':26}{'median':>8}   over {plain}, with its 95 % interval")
    print(f"  {plain:26}{median(samples[plain]):8.3f}")
    for name in others:
        pairs = [ours - theirs for ours, theirs in zip(samples[name], samples[plain], strict=True)]
        print(f"  {name:26}{median(samples[name]):8.3f}   {estimate(pairs)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--warm-up", type=int, default=100)
    options = parser.parse_args()
    request: dict[str, object] = {
        "code": CODE,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": True,
    }
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        kernels = {
            name: Kernel(Home(Path(folder, str(number))), program)
            for number, (name, program) in enumerate(KERNELS.items())
        }
        try:
            askers = {name: Asker(kernel.start()) for name, kernel in kernels.items()}
            measure(askers, options.warm_up, "execute_request", request)
            gc.disable()
            empty = measure(askers, options.rounds, "kernel_info_request", {})
            samples = measure(askers, options.rounds, "execute_request", request)
        finally:
            for kernel in kernels.values():
                kernel.kill()
    table(f"calibration: kernel_info_request, {options.rounds} rounds", empty)
    table(f"{CODE}, {options.rounds} rounds", samples)
    difference = estimate([ours - plain for ours, plain in zip(samples["perdure"], samples["ipykernel"], strict=True)])
    met, said = verdict(difference, MUST, GOAL)
    print(f"\nperdure takes {difference} ms more: {said}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
