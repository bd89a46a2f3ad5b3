"""`python -m benchmarks`: run all benchmarks, or some of them, and write the results page."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from benchmarks import cold, growth, live, machine, ncc, parallel, policies
from benchmarks.measuring import ROOT, Say
from benchmarks.report import Part, goals_table, write_atomically

PARTS: dict[str, Callable[[bool, Say], Part]] = {
    "ncc": ncc.measure,
    "policies": policies.measure,
    "live": live.measure,
    "growth": growth.measure,
    "parallel": parallel.measure,
    "cold": cold.measure,
}
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
QUICK = "**A smoke test with tiny sizes: its numbers mean nothing.**"
CHANGED = "**changed during the run, so the parts measured different versions: measure again**"


def main() -> int:
    """Run the benchmarks, print and write the page; return 1 if a part failed."""
    options = _options()
    start, load, source = perf_counter(), machine.load(), machine.source()
    done: dict[str, Part] = {}
    failed = []
    for name in options.only:
        try:
            done[name] = PARTS[name](options.quick, _say(name, start))
        except Exception as error:  # keep the results of the other parts, which took minutes
            traceback.print_exc()
            failed.append(name)
            done[name] = Part(name, f"This part failed: {error!r}")
    facts = _facts(load, source, perf_counter() - start)
    page = _page(facts, list(done.values()), options)
    print(page)
    if options.out is not None:
        write_atomically(options.out, page)
        print(f"Written to {options.out}.", file=sys.stderr)
    return int(bool(failed))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        type=_names,
        default=list(PARTS),
        metavar="PART,...",
        help=f"parts to run, separated by commas: {', '.join(PARTS)}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="use tiny sizes, to check that everything runs"
    )
    parser.add_argument(
        "--out", type=Path, help="file to write (default: benchmarks/RESULTS.md; none with --quick)"
    )
    options = parser.parse_args()
    if options.out is None and not options.quick:
        options.out = RESULTS
    return options


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"there are no parts {unknown}: choose among {', '.join(PARTS)}"
        )
    return [name for name in PARTS if name in names]


def _say(part: str, start: float) -> Say:
    return lambda text: print(
        f"[{perf_counter() - start:4.0f} s] {part}: {text}", file=sys.stderr, flush=True
    )


def _facts(load: str, source: str, seconds: float) -> dict[str, str]:
    return {
        **machine.describe(),
        "source": source if machine.source() == source else CHANGED,
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "took": f"{seconds / 60:.1f} minutes",
        "load average": f"{load} before, {machine.load()} after (this run included)",
    }


def _page(facts: dict[str, str], parts: Sequence[Part], options: argparse.Namespace) -> str:
    left_out = [name for name in PARTS if name not in options.only]
    arguments = [f"--only {','.join(options.only)}"] if left_out else []
    arguments += ["--quick"] if options.quick else []
    command = "make bench" + (f' ARGS="{" ".join(arguments)}"' if arguments else "")
    sections = ["# Benchmarks", f"Made by `{command}`, in one run on one machine."]
    sections += [QUICK] if options.quick else []
    sections += [f"Not run: {', '.join(left_out)}."] if left_out else []
    sections.append("\n".join(f"- {name}: {value}" for name, value in facts.items()))
    sections += [goals_table(parts).markdown()] if any(part.goals for part in parts) else []
    sections += [part.markdown() for part in parts]
    return "\n\n".join(sections) + "\n"


if __name__ == "__main__":
    sys.exit(main())
