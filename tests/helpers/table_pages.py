"""What the tests of tables, heatmap and selection share: where cells are, and what rows say."""


def hash_of(page):
    return page.evaluate("location.hash")


def come_to_heatmap(page):
    """Drawn only when somebody comes near to it."""
    page.locator("#heatmap-section").scroll_into_view_if_needed()
    page.locator("#heatmap .heat-stage svg").wait_for(state="attached", timeout=120_000)


def cell_at(page, row, column):
    """The middle of a cell of the heatmap on the screen."""
    come_to_heatmap(page)
    page.locator("#heatmap .heat-stage").scroll_into_view_if_needed()
    return page.evaluate(
        """([row, column]) => {
          const stage = document.querySelector("#heatmap .heat-stage"), { left, top, cell } = stage.dataset;
          const box = stage.getBoundingClientRect();
          return [box.left + +left + (column + 0.5) * cell, box.top + +top + (row + 0.5) * cell];
        }""",
        [row, column],
    )


def table(page, selector):
    """The texts of the rows of a table."""
    script = "(rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
    return page.locator(f"{selector} tbody tr").evaluate_all(script)


def selected(page, selector):
    """Names in the selected rows of a table."""
    script = "(rows) => rows.map((row) => [...row.querySelectorAll('bdi')].map((name) => name.textContent))"
    rows = page.locator(f"{selector} tbody tr[aria-selected=true]")
    assert rows.count() == page.locator(f"{selector} tr.selected").count()
    return rows.evaluate_all(script)
