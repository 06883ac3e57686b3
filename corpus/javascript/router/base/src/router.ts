import { match, type Params } from "./match";

export type Handler = (params: Params) => unknown;

/** Finds the handler of a path; the first pattern wins. */
export class Router {
  private routes: { pattern: string; handler: Handler }[] = [];

  on(pattern: string, handler: Handler): this {
    this.routes.push({ pattern, handler });
    return this;
  }

  async go(path: string): Promise<unknown> {
    for (const route of this.routes) {
      const params = match(route.pattern, path);
      if (params) return route.handler(params);
    }
    throw new Error(`no route for ${path}`);
  }

  off(pattern: string): void {
    const index = this.routes.findIndex((route) => route.pattern === pattern);
    this.routes.splice(index, 1);
  }
}
