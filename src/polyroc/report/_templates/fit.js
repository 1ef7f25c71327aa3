// The fit of docs/method.md in plain JavaScript. It touches no page, so that a worker can run it, too.

"use strict";
