import { eachPage } from '../base/each-page.ts';
import type { Context } from '../context/context.ts';
import type { Store } from '../store/store.ts';

// The threads of an agent are contexts with names of several parts, such as `langgraph/<thread>/<namespace>/0`. A slash
// in a part is escaped, so no part can reach into another thread.

/** Returns the name that these parts make. */
export function joinName(...parts: readonly string[]): string {
  return parts.map((part) => part.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/');
}

export function splitName(name: string): string[] {
  return name.split('/').map((part) => part.replaceAll('%2F', '/').replaceAll('%25', '%'));
}

/** Returns the contexts whose name begins with these parts, from older to newer. */
export async function contextsUnder(
  store: Store,
  ...parts: readonly string[]
): Promise<(Context & { readonly name: string })[]> {
  const found = new Map<bigint, Context & { readonly name: string }>();
  const query = { namePrefix: `${joinName(...parts)}/`, limit: 1000 };
  const pages = eachPage((after) => store.contexts.list({ ...query, ...after }));
  for await (const { items } of pages) {
    for (const context of items) {
      if (context.name !== undefined) found.set(context.id, { ...context, name: context.name });
    }
  }
  return [...found.values()].toSorted((a, b) => Number(a.id - b.id));
}
