"""Every limit by the number of classes or pairs: at most this many, and the reason.

`docs/large.md` says what is left out beyond each; a test compares the two. Scripts of the report have two more, without
loss: `SLOW_CLASSES` of recompute.js and `MOST_DRAWN_CELLS` of heatmap.js.
"""

# Numbers that are not computed

# The best assignment of more classes takes too long and too much memory.
HUM_CLASSES = 12
# A second fit takes as long as people wait for the first.
SECOND_FITS = 100
# Counts of scores would take too much memory with fine bins.
FINE_BINS = 50
# The best order of the leaves takes time with the cube of their number.
BEST_ORDER = 200
# A target with more values is no class, and would fill the memory of one machine.
CLUSTER_CLASSES = 100_000

# Printed text

# More classes that are never predicted are counted, not listed.
NEVER_PREDICTED_LISTED = 5
# A printed decision has more offsets and constant rules than anybody reads.
OFFSETS_PRINTED = 6
# Messages and plans list no more classes one by one.
LISTED_CLASSES = 10
# A printed table of more classes is longer than a screen.
CLASS_ROWS_PRINTED = 20
# A proposed command is too long to be pasted.
LABELS_PROPOSED = 100

# Pictures and notebooks

# Beyond this, confused classes are neighbours only in a clustered order.
HEATMAP_AS_GIVEN = 12
# Intervals in a notebook must not delay the result.
NOTEBOOK_PAIRS = 90
# More faint curves are one grey area.
PAIR_CURVES_DRAWN = 300

# The report

# A larger matrix of costs does not fit on a page.
MATRIX_ON_PAGE = 12
# A longer table hides the sections below; the others open on a click.
CLASS_ROWS_FIRST = 20
# A grid of more costs cannot be read, and its rates make the page too large.
COST_GRID = 50
# The search for tipping costs takes too long.
TIPPING_ON_PAGE = 50
# Cells become smaller than a pointer can point at.
HEATMAP_CELLS = 150
# Classes that a heatmap of too many shows instead: cells are large enough.
HEATMAP_HARDEST = 100
# Intervals of the numbers of every class take longer than all the rest.
CLASS_INTERVALS_ON_PAGE = 200
# Nobody reads further, and the page should stay small.
CLASS_ROWS_ON_PAGE = 200
# More curves cannot be looked at.
PAIR_CURVES_ON_PAGE = 200
# The script of the page adds further rows.
PAIR_ROWS_FIRST = 200
# A page with more opens slowly.
PAIRS_ON_PAGE = 20_000
