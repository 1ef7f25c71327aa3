"""What the page promises everywhere at once: nobody is shut out, nothing is loaded or evaluated, names stay names."""

import itertools
import re

import pytest
from browser_pages import serious_violations, settled, until
from report_pages import HOSTILE, Page
from table_pages import come_to_heatmap

from polyroc._lib.text import short_names
from polyroc.report._page import _PAGE, _text, module_order
from polyroc.report._sentences import names_of

# Each runs text as a program, or reads text as markup.
UNSAFE = r"\beval\(|\bFunction\(|(?:inner|outer)HTML|insertAdjacentHTML|document\.write|setTimeout\(\s*[\"'`]|import\("


def cell(page, row, column):
    """Of the grid of costs; classes count from 1, names and shares are before and after them."""
    return page.locator(f"#explorer-grid [data-r='{row}'][data-c='{column}']")


def typed(page, row, column, text):
    cell(page, row, column).focus()
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.locator("#explorer[data-settled='true']").wait_for(state="attached", timeout=120_000)


def used(page):
    """Every part of the page in the state in which it shows the most."""
    for folded in page.locator("details").all():
        folded.evaluate("(one) => { one.open = true; }")
    settled(page)
    if page.locator("#explorer-grid td").count():
        typed(page, 1, 2, "1000")
        typed(page, 2, 1, "0.001")
        typed(page, 2, 0, "7")
    if page.locator("#pair-curves").count():
        page.locator("#pair-curves").select_option(index=1)
    come_to_heatmap(page)
    page.locator("#class-table tbody tr").nth(1).click()
    page.locator("#curve").focus()
    page.keyboard.press("ArrowRight")


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        pytest.param("k3", "light", marks=pytest.mark.smoke),
        ("k3", "dark"),
        *itertools.product(("comparison", "k50", "near", "long classes", "hostile"), ("light", "dark")),
    ],
)
def test_axe_finds_nothing_serious(opened, name, scheme):
    with opened(name, color_scheme=scheme) as page:
        assert page.locator("#explorer-grid td:not(.none)").count() > 0
        used(page)
        assert serious_violations(page) == []
        # A pair takes the place of the class.
        page.locator("#pairs tbody tr").first.click()
        assert serious_violations(page, ".by-model") == []


@pytest.mark.parametrize("name", [pytest.param("comparison", marks=pytest.mark.smoke), "k50"])
def test_nothing_is_asked_for_whatever_is_used(opened, name):
    with opened(name) as page:
        asked = []
        page.context.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda socket: asked.append(socket.url))
        used(page)
        for view in ("corner", "logit", "square"):
            page.locator(f"[data-view={view}]").click()
        page.locator("#explorer-copy").click()
        page.emulate_media(media="print")
        page.pdf(prefer_css_page_size=True)
        page.wait_for_timeout(200)
        assert [url for url in asked if not url.startswith("blob:")] == []


@pytest.mark.parametrize("name", module_order(_PAGE, _text))
def test_no_script_reads_text_as_program_or_as_markup(name):
    assert re.findall(UNSAFE, _text(name)) == []


@pytest.mark.parametrize("name", ["comparison", "k50"])
def test_no_policy_lets_anything_be_evaluated_or_loaded(pages, name):
    [policy] = [
        one["content"] for one in Page(pages[name]).named("meta") if one.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert set(rules) == {
        "default-src", "script-src", "worker-src", "style-src", "img-src", "connect-src", "base-uri", "form-action"
    }  # fmt: skip
    assert all(re.fullmatch(r"'sha256-[\w+/=]{44}'", source) for source in rules["script-src"].split())
    assert (rules["worker-src"], rules["style-src"]) == ("blob:", "'unsafe-inline'")
    assert set(rules["img-src"].split()) <= {"data:", "blob:"}
    for rule in ("default-src", "connect-src", "base-uri", "form-action"):
        assert rules[rule] == "'none'"


@pytest.mark.parametrize("hidden", [False, True])
def test_words_are_shown_before_the_script_starts(browser, shelf, hidden):
    page = browser.new_page()
    try:
        # A browser that shows no frame until it is told to; in another tab there would never be one.
        page.add_init_script("window.frames_ = []; window.requestAnimationFrame = (call) => frames_.push(call);")
        page.add_init_script(f"Object.defineProperty(document, 'hidden', {{ get: () => {str(hidden).lower()} }});")
        page.goto(shelf.files["k3"].as_uri())
        assert page.locator(".lead").is_visible()
        is_ready = "'ready' in document.documentElement.dataset"
        assert page.evaluate(is_ready) == hidden
        page.evaluate("frames_.splice(0).forEach((call) => call())")
        until(page, lambda: page.evaluate(is_ready))
    finally:
        page.close()


def test_the_browser_refuses_to_evaluate_to_load_and_to_run_handlers(browser, shelf):
    # Not by `opened`: what is refused is said on the console, and this is what it should be.
    page = browser.new_page()
    try:
        page.goto(shelf.files["comparison"].as_uri())
        page.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
        refused = page.evaluate("""async () => {
          const heard = [];
          document.addEventListener("securitypolicyviolation", (one) => heard.push(one.effectiveDirective));
          const handler = document.createElement("button");
          handler.setAttribute("onclick", "window.hacked = 1");
          const script = document.createElement("script");
          script.textContent = "window.hacked = 1";
          const image = document.createElement("img");
          image.src = "https://example.com/a.png";
          document.body.append(handler, script, image);
          handler.click();
          setTimeout("window.hacked = 1", 0);
          await fetch("https://example.com/").catch(() => null);
          const pause = (next) => setTimeout(next, 300);
          for (let turn = 0; turn < 400 && heard.length < 5; turn += 1) await new Promise(pause);
          return heard.sort();
        }""")
        assert page.evaluate("window.hacked") is None
    finally:
        page.close()
    assert refused == ["connect-src", "img-src", "script-src", "script-src-attr", "script-src-elem"]


def texts_of(page, selector):
    """The texts of elements that must hold nothing but text."""
    assert page.locator(f"{selector} *").count() == 0
    return page.locator(selector).all_text_contents()


@pytest.mark.smoke
def test_hostile_names_are_text_in_every_part_of_the_page(opened, summaries, results):
    """Grid, sentence, tipping list, tables, chip, curve of a pair, heatmap, chart of differences and select boxes."""
    summary, n = summaries["hostile"], len(HOSTILE)
    shown, models = ([name.text for name in names_of(names)] for names in (HOSTILE, HOSTILE[:3]))
    with opened("hostile") as page:
        # The grid, and the sentence with two classes and with the best of the models.
        for row in range(1, n + 1):
            typed(page, row, 1 + row % n, "3")
            typed(page, row, 1 + row % n, "1")
        assert texts_of(page, "#explorer-grid tbody th bdi") == short_names(HOSTILE, 14)
        typed(page, 1, 4, "3")
        said = page.locator("#explorer-says").inner_text()
        whole = [name.whole for name in names_of(HOSTILE)]
        assert f"predicting {whole[0]} as {whole[3]} counts 3 times" in said
        assert sorted(texts_of(page, "#explorer-numbers tbody th bdi")) == sorted(models)
        # The tipping list, which the page carries for every model that is not first.
        entries = page.locator("#tipping li").all_text_contents()
        sentences = results["hostile"].tipping_costs().sentences
        assert len(entries) == len(sentences)
        assert set(texts_of(page, "#tipping li bdi")) <= set(shown) | set(whole) | set(models)
        # Classes, their partners and what they are mistaken for.
        assert texts_of(page, "#class-table tbody th bdi") == shown
        assert set(texts_of(page, "#class-table tbody td bdi")) <= set(shown)
        # The chip of each class, and a pair's tip in the heatmap.
        come_to_heatmap(page)
        for c in range(n):
            page.evaluate(f"location.hash = '#model=0&class={c}'")
            until(page, lambda c=c: texts_of(page, "#only-class bdi") == [shown[c]])
        # The name of a pair whose curve is drawn.
        for c in range(1, n):
            page.evaluate(f"location.hash = '#model=0&pair={c - 1},{c}'")
            until(page, lambda c=c: texts_of(page, "#curve .called bdi") == [shown[c - 1], shown[c]])
        names = texts_of(page, "#heatmap .heat-names text[data-class]")
        assert names[::2] == short_names([HOSTILE[c] for c in summary["heatmap_classes"]], 14)
        # The chart of differences: its choices, and what a screen reader is told of it.
        page.locator("#difference-section summary").click()
        settled(page)
        choices = texts_of(page, "#difference-pair option")
        assert choices == [f"{models[a]} minus {models[b]}" for a, b in ((0, 1), (0, 2), (1, 2))]
        for place, choice in enumerate(choices):
            page.locator("#difference-pair").select_option(str(place))
            assert page.locator("#difference").get_attribute("aria-label").startswith(f"{choice}: largest difference")
        assert set(texts_of(page, "#difference text")) & {*HOSTILE, *shown} == set()
        assert texts_of(page, "#model option") == models
        assert page.evaluate("window.hacked") is None
        assert page.locator("main a, main img, main script, main b, bdi *").count() == 0
