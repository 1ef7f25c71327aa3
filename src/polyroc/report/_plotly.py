"""plotly's own script, as a page can carry it and a browser opens it fast."""

import re

# How plotly 6 and later wrap the library, for module systems that a page does not have.
_WRAPPED = re.compile(
    r"(?P<licence>\s*/\*.*?\*/)\s*"
    r"\(\s*function\(root, factory\) \{.{,300}?\(\) => \{\n"
    r'"use strict";var Plotly=\(\(\)=>\{(?P<library>.*)\}\)\(\);(?P<notices>\s*(?:/\*.*\*/)?)\s*'
    r"window\.Plotly = Plotly;\s*return Plotly;\s*\}\)\);\s*",
    re.DOTALL,
)


def plotly_scripts() -> tuple[str, ...]:
    """The scripts that define `Plotly`, to run one after the other; raises, with what to install, without plotly."""
    try:
        from plotly.offline import get_plotlyjs
    except ModuleNotFoundError as error:
        msg = 'A report needs plotly: pip install "polyroc[report]".'
        raise ModuleNotFoundError(msg, name="plotly") from error
    return tuple(inlined(script) for script in unwrapped(get_plotlyjs()))


def unwrapped(script: str) -> tuple[str, ...]:
    """One script that holds the library as a function, and one that calls it; any other script as it is.

    Each function around the library is read once more by Chromium: when it is called, unless it stands in brackets
    behind the word `function`, and when an error is made inside, as plotly does on its way, to find where that was.
    So there is but one, called from elsewhere. Of the time until the library is there, this takes away a third.
    """
    found = _WRAPPED.fullmatch(script)
    if found is None:
        return (script,)
    library = f'{found["licence"]}\n"use strict";var makePlotly=(function(){{{found["library"]}}});{found["notices"]}\n'
    return library, "window.Plotly = makePlotly.call(window);\n"


def inlined(script: str) -> str:
    r"""The script as it may stand inside a page.

    >>> inlined("a = '</script>'")
    "a = '<\\/script>'"
    """
    # These would end the script, or begin a comment; in JavaScript the backslash changes nothing.
    script = script.replace("</script", r"<\/script").replace("<!--", r"<\!--")
    # As a browser reads them: otherwise the script would not have the hash that the page allows.
    return script.replace("\r\n", "\n").replace("\r", "\n")
