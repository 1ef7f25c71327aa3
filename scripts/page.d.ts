// For tsc: only the templates know which elements the scripts of the page look up.
interface Document {
  getElementById(id: string): any;
}
interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}
interface Element {
  closest(selectors: string): any;
}
interface EventTarget {
  closest?(selectors: string): any;
}
// In workers.
declare const WorkerGlobalScope: { new (): unknown };
