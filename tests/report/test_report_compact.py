"""Scripts and styles stand in the page without comments and indentation, and mean the same."""

import json
import subprocess

import pytest
from page_script import NODE, run_in_chromium

from polyroc.report._compact import compact_script, compact_style
from polyroc.report._page import _FIT, _SCRIPTS, _STYLES, _scripts, _text

# Node brings a parser along. What remains of a tree is all but the places of its nodes.
PARSE = """
const acorn = require("internal/deps/acorn/acorn/dist/acorn");
const plain = (key, value) => (key === "start" || key === "end" ? undefined : value);
const tree = (text) => JSON.stringify(acorn.parse(text, { ecmaVersion: "latest" }), plain);
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(given.map(([one, other]) => tree(one) === tree(other))));
"""


def are_the_same_programs(pairs):
    if not NODE:
        pytest.skip("needs node")
    command = [NODE, "--expose-internals", "-e", PARSE]
    given = json.dumps(pairs)
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_scripts_of_the_page_have_the_same_tree_in_three_quarters_of_the_letters():
    texts = [_text(name) for name in (*_FIT, *_SCRIPTS)]
    compacted = [compact_script(text) for text in texts]
    assert all(are_the_same_programs(list(zip(texts, compacted, strict=True))))
    assert sum(map(len, compacted)) < 0.75 * sum(map(len, texts))


HARD = [
    "let a = 1 // why\nlet b = 2 /* because\nof this */ let c = 3",
    "a = b / c / d; e = f[0] / 2; g = (1 + 2) / 3 / 4",
    'const f = (x) => /[/"\'`]\\/\\//g.test(x) // "none"',
    "const f = (x) => { return /a  b/.test(x) }",
    'a = "// no comment"; b = \'/* none */ "\'; c = "\\"  \\\\"; d = e',
    "a = `  // none ${b ? `in  ${c + { d: `}` }.d}  ` : '}'}  /* none */`\nb = `\\`  ${1}`",
    "a = b + +c - -d + ++e - --f; g = h++ + i; x = j-- - k",
    "a = b < !--c; d = e ? .5 : 1; f = 1 .toFixed(); g = [...h, ...i]",
    "let a\nlet b = 1\n[a, b] = [b, a]",
    "a\n++b\nreturned = () => {\n  return\n  1\n}",
    "if (a) b()\nelse c()\ndo d()\nwhile (e)\nf()",
    "class A { get b() { return 1 } static c = 2; #d = 3 }",
    "for (const a of [1]) for (const b in c) if (b in a) typeof b",
    "const größe = 1, x = größe in y",
    "a = b\n/c/g.d",
    "async (a) => { await a; for (;;) break }",
]


@pytest.mark.parametrize("text", HARD)
def test_hard_lines_have_the_same_tree(text):
    assert are_the_same_programs([[text, compact_script(text)]]) == [True]


def test_comments_and_indentation_are_gone_and_nothing_else():
    text = 'function f(a) {\n  // a reason\n  const b = "two  words"; /* one more */\n  return `  ${a + b}`;\n}\n'
    assert compact_script(text) == 'function f(a){const b="two  words";return`  ${a + b}`;}'


def test_the_page_has_the_compacted_scripts():
    fit, page = _scripts()
    assert "//" not in fit
    assert "\n " not in fit + page


# What the browser makes of a style sheet.
RULES = """(styles) => styles.map((text) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return [...sheet.cssRules].map((rule) => rule.cssText.replaceAll(", ", ",")); // values of variables keep their spaces
})"""


@pytest.mark.usefixtures("browser")
def test_the_browser_reads_the_same_rules():
    texts = [_text(name) for name in _STYLES]
    compacted = [compact_style(text) for text in texts]
    wanted, found = run_in_chromium(RULES, texts), run_in_chromium(RULES, compacted)
    assert found == wanted
    assert sum(map(len, wanted[0])) > 1000
    assert sum(map(len, compacted)) < 0.85 * sum(map(len, texts))


def test_strings_of_a_style_sheet_stay():
    text = 'a::before { content: "a ; }  b /* c */"; } /* gone */ @media (width > 3rem) { b > c + d :hover { e: f } }'
    wanted = 'a::before{content:"a ; }  b /* c */"}@media (width > 3rem){b > c + d :hover{e:f}}'
    assert compact_style(text) == wanted
