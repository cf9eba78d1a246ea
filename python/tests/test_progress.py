"""The bar that ``progress=True`` shows: in files, on terminals, in notebooks."""

import ast
import os
import subprocess
import sys
import textwrap

import pytest


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_progress_shows_a_bar(run_python, has_tqdm):
    program = f"""
    import sys
    if not {has_tqdm}:
        sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
    sys.stderr = sys.stdout
    import numpy as np, mercer
    X = np.random.default_rng(0).normal(size=(3000, 100))
    mercer.KernelPCA(20, kernel="rbf", gram="tiled", tolerance=1e-12, progress=True).fit(X)
    """
    shown = run_python(program)
    assert "solving, pass" in shown, shown
    assert ("100%" if has_tqdm else "done") in shown, shown


def on_a_terminal(program):
    """What a program writes to a terminal of 100 columns."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    shown = b""
    try:
        while True:
            try:
                read = os.read(ours, 4096)
            except OSError:
                break  # The other side is closed.
            if not read:
                break
            shown += read
        assert process.wait(timeout=60) == 0, shown.decode()
    finally:
        process.kill()
        os.close(ours)
    return shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("has_tqdm", [True, False])
@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_bar_on_a_terminal_is_one_line_that_is_written_over(has_tqdm, is_stopped):
    shown = on_a_terminal(f"""
    import sys
    if not {has_tqdm}:
        sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
    import warnings
    import numpy as np, mercer
    warnings.simplefilter("ignore")
    assert sys.stderr.isatty()
    pca = mercer.KernelPCA(
        20, kernel="rbf", gram="tiled", solver="krylov", tolerance=1e-12, progress=True, copy_X=False,
        memory_limit="1kB" if {is_stopped} else None,
    )
    X = np.random.default_rng(0).normal(size=(3000, 100))
    try:
        pca.fit(X)
    except mercer.MemoryBudgetError:
        assert {is_stopped}
    """)
    # The terminal makes a return and a new line of every new line.
    lines = shown.rstrip("\r\n").split("\n")
    assert len(lines) == 1, shown
    states = [state.rstrip() for state in lines[0].split("\r") if state.strip()]
    if is_stopped:
        assert not has_tqdm or "100%" not in shown, shown
        assert has_tqdm or states == ["stopped"], states
    elif has_tqdm:
        assert any("solving, pass" in state and "residual" in state for state in states), states
        assert "100%" in states[-1], states
    else:
        assert states[-1] == "done" and len(states) > 2, states
        shares = [float(state.split(" %")[0].split()[-1]) for state in states if state.startswith("solving")]
        assert shares and all(0 <= share <= 100 for share in shares), states
        # What is shorter covers all of what was there before.
        written = lines[0].rstrip("\r").split("\r")[1:]
        assert all(len(after) >= len(before.rstrip()) for before, after in zip(written, written[1:], strict=False)), shown


# What a kernel of Jupyter has that a bar can see of it: its shell, and a stream that says that it is no terminal.
KERNEL = """
import io, sys, types, warnings

def module(name, **names):
    made = sys.modules[name] = types.ModuleType(name)
    vars(made).update(names)

class ZMQInteractiveShell:
    config = {"IPKernelApp": {}}

class OutStream(io.StringIO):
    __module__ = "ipykernel.iostream"

module("ipykernel")
module("ipykernel.zmqshell", ZMQInteractiveShell=ZMQInteractiveShell)
module("IPython", get_ipython=ZMQInteractiveShell)
shown = []
module("IPython.display", display=shown.append)
sys.stderr = stream = OutStream()
"""

# As much of ipywidgets as a bar needs.
WIDGETS = """
class Widget:
    def __init__(self, **traits):
        self.value, self.bar_style = 0.0, ""
        self.layout, self.style = types.SimpleNamespace(), types.SimpleNamespace(bar_color=None)
        vars(self).update(traits)

class HTML(Widget): pass
class FloatProgress(Widget): pass
class HBox(Widget): pass

module("ipywidgets", HTML=HTML, FloatProgress=FloatProgress, HBox=HBox)
"""

NO_WIDGETS = """
sys.modules["ipywidgets"] = sys.modules["IPython.html"] = None
"""

NO_TQDM = """
sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
"""

# A run of three passes that may be stopped in the last of them, and all that is warned of meanwhile.
RUN = """
from mercer._progress import bar

said = []
warnings.showwarning = lambda message, *where: said.append(message)
warnings.simplefilter("always")
try:
    with bar(True) as report:
        for number in (1, 2, 3):
            report("solving", number, 3, 0.5, 1e-3)
            if is_stopped and number == 3:
                raise RuntimeError("enough")
except RuntimeError:
    assert is_stopped
assert not said, said
"""


def in_a_notebook(run_python, *parts, is_stopped=False, told):
    """What a run tells of itself in a kernel: the value of the expression ``told``."""
    program = "\n".join((KERNEL, *parts, f"is_stopped = {is_stopped}", RUN, f"print(ascii({told}))"))
    return ast.literal_eval(run_python(program))


@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_bar_in_a_notebook_with_widgets_is_one_of_them(run_python, is_stopped):
    told = "(len(shown), [part.value for part in shown[0].children], shown[0].children[1].bar_style, stream.getvalue())"
    count, (left, value, right), style, text = in_a_notebook(run_python, WIDGETS, is_stopped=is_stopped, told=told)
    assert count == 1 and text == ""
    assert left.replace("\u2007", " ").startswith("solving, pass 3 of about 3: "), left
    assert "residual" in right and "1.0e-03" in right
    assert (value, style) == ((pytest.approx(2.5 / 3), "danger") if is_stopped else (1.0, "success"))


@pytest.mark.parametrize("is_stopped", [True, False])
@pytest.mark.parametrize("has_tqdm", [True, False])
def test_a_bar_in_a_notebook_without_widgets_is_one_line_that_is_written_over(run_python, has_tqdm, is_stopped):
    rest = NO_WIDGETS if has_tqdm else NO_TQDM
    text = in_a_notebook(run_python, rest, is_stopped=is_stopped, told="stream.getvalue()")
    assert text.endswith("\n") and text.count("\n") == 1, text
    states = [state.strip() for state in text.split("\r") if state.strip()]
    assert [sum(f"solving, pass {number} of about 3" in state for state in states) > 0 for number in (1, 2, 3)] == [True] * 3
    if has_tqdm:
        assert ("100%" in states[-1]) != is_stopped, states
    else:
        assert states[-1] == ("stopped" if is_stopped else "done")


def test_a_stream_of_a_notebook_that_goes_elsewhere_has_a_line_for_every_pass(run_python):
    elsewhere = NO_TQDM + "sys.stderr = stream = io.StringIO()"
    lines = in_a_notebook(run_python, elsewhere, told="stream.getvalue()").splitlines()
    assert lines == [*(f"solving, pass {number} of about 3, residual 1.0e-03" for number in (1, 2, 3)), "done"]


def test_a_program_without_a_console_shows_nothing_and_runs(run_python):
    program = """
    import sys
    sys.stderr = None
    import numpy as np, mercer
    print(mercer.KernelPCA(2, progress=True).fit(np.eye(5)).n_features_in_)
    """
    assert run_python(program) == "5\n"
