import js from "@eslint/js";
import globals from "globals";

const SCRIPTS = "src/polyroc/report/_templates/*.js";

export default [
  { ignores: [".venv*/", "docs/", "build/", "demo/"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, sourceType: "module" },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      "no-implied-eval": "error",
      "no-var": "error",
      "no-shadow-restricted-names": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      curly: ["error", "multi-line"],
    },
  },
  {
    files: [SCRIPTS],
    languageOptions: { globals: { ...globals.browser, WorkerGlobalScope: "readonly" } },
    rules: {
      // `_page.py` joins the modules line by line.
      "no-restricted-syntax": [
        "error",
        { selector: "Program > VariableDeclaration[declarations.length>1]", message: "One name per declaration at the top of a module." },
        { selector: "ExportNamedDeclaration > VariableDeclaration[declarations.length>1]", message: "One name per declaration at the top of a module." },
        { selector: "Program > VariableDeclaration > VariableDeclarator[id.type!='Identifier']", message: "A plain name at the top of a module." },
        { selector: "ExportDefaultDeclaration, ExportAllDeclaration, ImportExpression, ImportDefaultSpecifier, ImportNamespaceSpecifier", message: "Import and export names." },
        { selector: "TemplateElement[value.raw=/\\n/]", message: "One line for a template." },
      ],
    },
  },
  { files: ["tests/**/*.js", "scripts/*.mjs"], languageOptions: { globals: globals.node } },
];
