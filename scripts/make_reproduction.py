"""Write the figures and tables of docs/reproduction.md from the results of `python -m experiments all --out FOLDER`."""

import argparse
import csv
import re
import shutil
from pathlib import Path

from experiments import EXPERIMENTS
from experiments._write import as_cell
from polyroc._lib.files import write_whole

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reproduction.md"
_SUMMED_UP = ("printed", "separated pair")
IMAGES = ROOT / "docs" / "images" / "reproduction"


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(header, rows):
    cells = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in cells)


def claims(folder, name):
    rows = rows_of(folder / name / "claims.csv")
    return table(
        ["claim", "measured", "holds", "judged by"],
        [
            [
                as_cell(row["claim"]),
                as_cell(row["measured"]),
                "yes" if row["holds"] == "yes" else "**no**",
                as_cell(row["judged by"]),
            ]
            for row in rows
        ],
    )


def rankings(folder):
    """The printed probabilities beside ours, orders that nobody found left out."""
    columns = {"printed": "printed", "paper_method": "paper's replicates", "bootstrap": "paired resamples"}
    rows = [
        [row["data"], as_cell(row["ranking"].replace(">", " > ")), *(f"{float(row[name]):.2f}" for name in columns)]
        for row in rows_of(folder / "real-data" / "rankings.csv")
        if any(float(row[name]) >= 0.005 for name in columns)
    ]
    return table(["data", "ranking", *columns.values()], rows)


def orders(folder):
    """In what share of the splits each order comes out, by the settings of the classifiers; rare orders left out."""
    columns = {
        "printed": "printed",
        **{
            f"{settings} {letter}": f"{settings}, {name}"
            for settings in ("scikit-learn", "R")
            for letter, name in {"D": "D", "D_shared": "D shared", "M": "M"}.items()
        },
    }
    rows = [
        [row["data"], as_cell(row["ranking"].replace(">", " > ")), *(f"{float(row[name]):.2f}" for name in columns)]
        for row in rows_of(folder / "real-data" / "orders.csv")
        if any(float(row[name]) >= 0.05 for name in columns)
    ]
    return table(["data", "ranking", *columns.values()], rows)


def printed(folder):
    """A column for each reading, a row for each problem."""
    rows = [row for row in rows_of(folder / "choices" / "choices.csv") if row["choice"] == "printed"]
    found = {}
    for row in rows:
        value = float(row["value"])
        reading = row["reading"] or row["quantity"]
        found.setdefault(row["problem"], {})[reading] = "no number" if value != value else f"{value:.4f}"
    readings = list(dict.fromkeys(row["reading"] or row["quantity"] for row in rows))
    return table(["problem", *readings], [[problem, *values.values()] for problem, values in found.items()])


def combinations(folder):
    rows = rows_of(folder / "costs" / "combinations.csv")
    costs = [name for name in rows[0] if name.startswith("c = ")]
    names = [row["structure"] + (f", rank {row['rank']}" if row["rank"] != "1" else "") for row in rows]
    return table(
        ["structure", "quantiles", *(f"D at {name}" for name in costs)],
        [
            [name, row["quantiles"], *(f"{float(row[cost]):.3f}" for cost in costs)]
            for name, row in zip(names, rows, strict=True)
        ],
    )


def discrimination(folder):
    rows = rows_of(folder / "discrimination" / "areas.csv")
    lines = {}
    for row in rows:
        lines.setdefault((row["labels"], row["thresholds"]), []).append(f"{float(row['D']):.3f}")
    names = list(dict.fromkeys(row["covariates"] for row in rows))
    return table(["labels", "thresholds", *names], [[*key, *values] for key, values in lines.items()])


def skewness(folder):
    """Range of each statistic by skewness alone."""
    rows = [row for row in rows_of(folder / "skewness" / "spread.csv") if row["alpha"] == "all"]
    names = list(dict.fromkeys(row["statistic"] for row in rows))
    by_d = {}
    for row in rows:
        by_d.setdefault(row["covariates"], []).append(f"{float(row['deviation_by_weights']):.4f}")
    return table(["d", *names], [[d, *values] for d, values in by_d.items()])


def printed_intervals(folder):
    rows = [
        [
            row["setting"],
            row["thresholds"],
            "yes" if row["end_points"] == "True" else "no",
            f"{float(row['coverage']):.1%}",
            f"{float(row['width_over_needed']):.3f}",
        ]
        for row in rows_of(folder / "coverage" / "printed_intervals.csv")
    ]
    return table(["setting", "thresholds T", "end points", "coverage", "width over what is needed"], rows)


def printed_algorithm(folder):
    rows = [
        [
            row["data"],
            row["settings"],
            row["splits"],
            row["certain"],
            f"{float(row['median']):.2f}",
            row["tied"],
            row["no_number"],
            as_cell(row["printed"].replace(">", " > ")),
            f"{float(row['printed_in']):.3g}",
        ]
        for row in rows_of(folder / "real-data" / "printed_algorithm.csv")
    ]
    header = ["data", "settings", "splits", "likeliest ranking has 0.95 or more in", "its median probability"]
    return table([*header, "two models tie in", "no number in", "printed ranking", "comes out in"], rows)


def agreement(folder):
    rows = [
        [
            row["data"],
            row["splits"],
            *(f"{float(row[name]):.0%}" for name in ("pairs_alike", "same_best", "same_order")),
        ]
        for row in rows_of(folder / "real-data" / "agreement.csv")
    ]
    return table(["data", "splits", "two models alike", "the same best", "all three alike"], rows)


def areas(folder):
    rows = [
        [
            row["data"],
            row["model"],
            f"{float(row['D']):.4f}",
            f"{float(row['D_low']):.4f} to {float(row['D_high']):.4f}",
            f"{float(row['D_shared']):.4f}",
            f"{float(row['M']):.4f}",
        ]
        for row in rows_of(folder / "real-data" / "areas.csv")
    ]
    return table(["data", "model", "D", "95 % interval", "D, shared thresholds", "M"], rows)


def choices(folder):
    """Every reading of every choice, but for many problems or splits, which the claims sum up."""
    rows = [
        [
            row["choice"],
            row["problem"],
            # What was decided, in bold.
            f"**{row['reading']}**" if row["decided"] == "True" else row["reading"],
            row["quantity"],
            # Next to 1 four decimals would all be nines.
            f"{float(row['value']):.{7 if 0.9995 < float(row['value']) < 1 else 4}f}",
        ]
        for row in rows_of(folder / "choices" / "choices.csv")
        if row["choice"] not in _SUMMED_UP
        and not row["choice"].startswith("update")
        and not row["quantity"].startswith(("error", "fall of"))
    ]
    return table(["choice", "problem", "reading", "quantity", "value"], rows)


def coverage(folder):
    rows = [
        [row["setting"], row["interval"], f"{float(row['coverage']):.1%}", f"{float(row['width_over_needed']):.2f}"]
        for row in rows_of(folder / "coverage" / "coverage.csv")
    ]
    return table(["setting", "interval", "coverage", "width over what is needed"], rows)


def counts(folder):
    rows = rows_of(folder / "discrimination" / "counts.csv")
    kinds = list(dict.fromkeys(row["labels"] for row in rows))
    return table(
        ["labels", *(f"class {c + 1}" for c in range(5))],
        [[kind, *(f"{int(row['samples']):,}" for row in rows if row["labels"] == kind)] for kind in kinds],
    )


def sources(folder):
    page = (folder / "real-data" / "claims.md").read_text(encoding="utf-8")
    return "\n".join(line for line in page.splitlines() if line.startswith("- "))


def parts(folder):
    """What stands between the marks of the page, by the name of the mark."""
    found = {f"claims of {name}": claims(folder, name) for name in EXPERIMENTS}
    makers = (
        *(
            counts,
            discrimination,
            skewness,
            combinations,
            areas,
            rankings,
            orders,
            agreement,
            printed_algorithm,
            sources,
        ),
        *(printed, choices, coverage, printed_intervals),
    )
    return found | {maker.__name__: maker(folder) for maker in makers}


def filled(page, found):
    """The page with every marked part replaced."""
    for name, part in found.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", flags=re.DOTALL)
        if len(pattern.findall(page)) != 1:
            msg = f"docs/reproduction.md must have one part between {begin} and {end}"
            raise ValueError(msg)
        page = pattern.sub(lambda _, part=part, begin=begin, end=end: f"{begin}\n\n{part}\n\n{end}", page)
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    page = filled(PAGE.read_text(encoding="utf-8"), parts(folder))
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in EXPERIMENTS:
        for picture in sorted((folder / name).glob("*.png")):
            shutil.copyfile(picture, IMAGES / f"{name}-{picture.name}")
    write_whole(PAGE, page.encode())
    print(f"Wrote {PAGE.relative_to(ROOT)} and the pictures in {IMAGES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
