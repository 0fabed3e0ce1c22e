// The addresses of the page. A view is a value; `parseAddress` and `addressOf` are the only code that knows how it is
// written in the address bar, without the path that a proxy may put in front.

export type View =
  | { readonly at: 'home' }
  | { readonly at: 'context'; readonly context: string; readonly turn?: string }
  | { readonly at: 'branches'; readonly context: string }
  | { readonly at: 'compare'; readonly left: string; readonly right: string }
  | { readonly at: 'chat'; readonly chat: string; readonly message?: string }
  | { readonly at: 'workflow'; readonly thread: string }
  | { readonly at: 'session'; readonly session: string }
  | { readonly at: 'queue'; readonly queue: string }
  | { readonly at: 'search'; readonly query: string }
  | { readonly at: 'store' }
  | { readonly at: 'nowhere'; readonly path: string };

const ID = /^[1-9]\d{0,15}$/;

export function parseAddress(path: string, search = ''): View {
  const parts = path.split('/').filter((part) => part !== '');
  const words = parts.map(decode);
  const [first, second, third, fourth] = words;
  const nowhere: View = { at: 'nowhere', path };
  if (words.includes(undefined)) return nowhere;
  if (first === undefined) return { at: 'home' };
  if (first === 'store' && second === undefined) return { at: 'store' };
  if (first === 'search' && second === undefined) {
    return { at: 'search', query: new URLSearchParams(search).get('q') ?? '' };
  }
  if (second === undefined) return nowhere;
  if (first === 'c' && ID.test(second)) {
    if (third === undefined) return { at: 'context', context: second };
    if (third === 'branches') return { at: 'branches', context: second };
    if (third === 't' && fourth !== undefined && ID.test(fourth)) {
      return { at: 'context', context: second, turn: fourth };
    }
    return nowhere;
  }
  if (first === 'chat') {
    return { at: 'chat', chat: second, ...(third === 'm' && fourth && { message: fourth }) };
  }
  if (third !== undefined) return nowhere;
  if (first === 'w') return { at: 'workflow', thread: second };
  if (first === 's') return { at: 'session', session: second };
  if (first === 'q') return { at: 'queue', queue: second };
  const [, left, right] = /^(\d{1,16})\.\.(\d{1,16})$/.exec(second) ?? [];
  if (first === 'compare' && left !== undefined && right !== undefined) {
    return { at: 'compare', left, right };
  }
  return nowhere;
}

export function addressOf(view: View): string {
  const e = encodeURIComponent;
  switch (view.at) {
    case 'home':
      return '/';
    case 'context':
      return `/c/${view.context}${view.turn === undefined ? '' : `/t/${view.turn}`}`;
    case 'branches':
      return `/c/${view.context}/branches`;
    case 'compare':
      return `/compare/${view.left}..${view.right}`;
    case 'chat':
      return `/chat/${e(view.chat)}${view.message === undefined ? '' : `/m/${e(view.message)}`}`;
    case 'workflow':
      return `/w/${e(view.thread)}`;
    case 'session':
      return `/s/${e(view.session)}`;
    case 'queue':
      return `/q/${e(view.queue)}`;
    case 'search':
      return view.query === '' ? '/search' : `/search?q=${e(view.query)}`;
    case 'store':
      return '/store';
    case 'nowhere':
      return view.path;
  }
}

/** Undefined for an escape that is not UTF-8. */
function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
