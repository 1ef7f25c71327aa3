"""Numbers into cells, and cells into text, for the screen or for a page."""

from benchmarks import _peers

DASH = "-"


def duration(seconds):
    if seconds < 0.001:
        return f"{1e6 * seconds:.0f} us"
    return (
        f"{1e3 * seconds:.3g} ms" if seconds < 0.9995 else f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"
    )


def memory(n_bytes):
    return f"{n_bytes / 2**20:.0f} MiB" if n_bytes < 2**30 else f"{n_bytes / 2**30:.2f} GiB"


def ratio(value):
    return f"{value:.2f}x" if value < 10 else f"{value:.1f}x" if value < 100 else f"{value:.0f}x"


def verdict(met):
    return "met" if met else "NOT met"


def target(measured):
    aim, parts = measured.row.target, []
    if aim.ratio is not None:
        parts.append(f"at least {aim.ratio:g}x: {verdict(measured.ratio_two >= aim.ratio)}")
    if aim.seconds is not None:
        parts.append(f"at most {duration(aim.seconds)}: {verdict(measured.two.seconds <= aim.seconds)}")
    if aim.memory is not None:
        parts.append(f"at most {memory(aim.memory)}: {verdict(measured.two.peak <= aim.memory)}")
    return "; ".join(parts) or DASH


def speed_cells(results):
    head = ["problem", "polyroc", "peer", "peer time", "1 thread", "2 threads", "ratio, 1 thread", "ratio, 2 threads"]
    rows = [[*head, "target (2 threads)", "peer memory", "polyroc memory", "runs"]]
    for measured in results:
        peer, one, two = measured.peer, measured.one, measured.two
        rows.append(
            [
                str(measured.row.problem),
                measured.row.what,
                _peers.NAMES[measured.row.peer] + (f" ({peer.remark})" if peer.remark else ""),
                duration(peer.seconds),
                duration(one.seconds),
                duration(two.seconds),
                ratio(measured.ratio_one),
                ratio(measured.ratio_two),
                target(measured),
                memory(peer.peak),
                memory(two.peak),
                f"{peer.runs} / {one.runs} / {two.runs}",
            ]
        )
    return rows


def startup_cells(waits):
    rows = [["what", "time", "target", "runs"]]
    for wait in waits:
        aim = f"at most {duration(wait.target)}: {verdict(wait.seconds <= wait.target)}"
        rows.append([wait.what, duration(wait.seconds), aim, str(wait.runs)])
    return rows


def influence_cells(results, most_added, least_faster):
    head = ["problem", "threads", "evaluate", "standard error in addition", "ratio", f"target: at most {most_added:g}"]
    rows = [[*head, "999 resamples", "times as long", f"target: at least {least_faster:g}", "runs"]]
    for added in results:
        rows.append(
            [
                str(added.problem),
                str(added.threads),
                duration(added.error.evaluation),
                duration(added.error.seconds),
                f"{added.ratio:.2f}",
                verdict(added.ratio <= most_added),
                f"{duration(added.resamples.seconds)} ({added.resamples.remark})",
                f"{added.faster:.0f}",
                verdict(added.faster >= least_faster),
                f"{added.error.runs} / {added.resamples.runs}",
            ]
        )
    return rows


def growth_cells(series):
    rows = [["against", "what", "smallest", "largest", "exponent"]]
    for one in series:
        axis = one.axis
        ends = [f"{duration(one.seconds[p])} at {axis.name} = {axis.sizes[p]:,}" for p in (0, -1)]
        rows.append([f"{axis.label} ({axis.fixed})", one.name, *ends, f"{one.exponent:.2f}"])
    return rows


def plain(rows):
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def markdown(rows):
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, f"| {' | '.join('---' for _ in rows[0])} |")
    return "\n".join(lines)
