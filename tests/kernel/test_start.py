"""How a kernel starts where a user's folder or config stands in its way."""

from __future__ import annotations

from .conftest import StartKernel
from .home import Home


def test_a_folder_that_holds_a_perdure_of_its_own(home: Home, new_kernel: StartKernel) -> None:
    (home.work / "perdure").mkdir()  # as the parent of a clone does
    (home.work / "perdure.py").write_text("raise RuntimeError('not this one')\n")
    (home.work / "random.py").write_text("raise RuntimeError('nor this one')\n")
    (home.work / "beside.py").write_text("HERE = 7\n")
    kernel = new_kernel().start()
    assert kernel.run("import beside\nbeside.HERE").value == "7"


def test_the_config_of_ipykernel_is_this_kernels_too(home: Home, new_kernel: StartKernel) -> None:
    profile = home.ipython / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text(
        "c.InteractiveShellApp.exec_lines = ['FROM_CONFIG = 2']\nc.PerdureKernel.mode = 'readonly'\n"
    )
    kernel = new_kernel().start()
    assert kernel.run("FROM_CONFIG").value == "2"
    assert "read-only" in kernel.run("%cells").stdout or not home.layer.exists()
