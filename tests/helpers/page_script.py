"""The script of the page without a page: run by Node, or by Chromium where there is none."""

import json
import shutil
import subprocess

from browser_pages import chromium

from polyroc.report._page import _FIT, _text, bundle, module_order

NODE = shutil.which("node")
# Arrays of numbers become lists on their way out.
_PLAIN = "(key, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value)"
_MAIN = f"""
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const found = new Function(`${{given.script}}\nreturn (${{given.run}})(...arguments);`)(given.jobs);
Promise.resolve(found).then((answer) => process.stdout.write(JSON.stringify(answer, {_PLAIN})));
"""
FIT = bundle(_FIT, _text)


def script_of(module, *, has_fit=False):
    """A module with all that it imports, for a page that has the fit or has nothing yet."""
    return bundle(module, _text, loaded=module_order(_FIT, _text) if has_fit else ())


def run_script(run, jobs, *, script=FIT):
    """What a function of the script's language gives for these jobs; all of them in one process."""
    if NODE:
        return _by_node(run, jobs, script)
    return run_in_chromium(f"async (jobs) => {{ {script}\nreturn ({run})(jobs); }}", jobs)


def run_in_chromium(run, jobs, *, page=None):
    """The same inside of a page, a file, or of an empty one."""
    opened = chromium().new_page()
    try:
        if page is not None:
            opened.goto(page.as_uri())
        return json.loads(opened.evaluate(f"async (jobs) => JSON.stringify(await ({run})(jobs), {_PLAIN})", jobs))
    finally:
        opened.close()


def _by_node(run, jobs, script):
    given = json.dumps({"script": script, "run": run, "jobs": jobs})
    done = subprocess.run(
        [NODE, "-e", _MAIN], input=given, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
