// The addresses of the page. A view is a value; `parseAddress` and `addressOf` are the only code that knows how it is
// written in the address bar, without the path that a proxy may put in front.

export type View =
  | { readonly at: 'home' }
  | {
      readonly at: 'context';
      readonly context: string;
      readonly turn?: string;
      readonly query?: string;
    }
  | { readonly at: 'branches'; readonly context: string }
  | { readonly at: 'compare'; readonly left: string; readonly right: string }
  | {
      readonly at: 'chat';
      readonly chat: string;
      readonly message?: string;
      readonly query?: string;
    }
  | {
      readonly at: 'workflow';
      readonly thread: string;
      readonly step?: string;
      readonly query?: string;
    }
  | {
      readonly at: 'session';
      readonly session: string;
      readonly entry?: string;
      readonly query?: string;
    }
  | { readonly at: 'queue'; readonly queue: string }
  | { readonly at: 'search'; readonly query: string }
  | { readonly at: 'store' }
  | { readonly at: 'nowhere'; readonly path: string };

const ID = /^[1-9]\d{0,15}$/;

export function parseAddress(path: string, search = ''): View {
  const parts = path.split('/').filter((part) => part !== '');
  const names = parts.map(decode);
  const [first, second, third, fourth] = names;
  const nowhere: View = { at: 'nowhere', path };
  if (names.includes(undefined)) return nowhere;
  if (first === undefined) return { at: 'home' };
  if (first === 'store' && second === undefined) return { at: 'store' };
  if (first === 'search' && second === undefined) {
    return { at: 'search', query: new URLSearchParams(search).get('q') ?? '' };
  }
  if (second === undefined) return nowhere;
  const words = new URLSearchParams(search).get('q');
  const query = words !== null && { query: words };
  if (first === 'c' && ID.test(second)) {
    if (third === undefined) return { at: 'context', context: second };
    if (third === 'branches') return { at: 'branches', context: second };
    if (third === 't' && fourth !== undefined && ID.test(fourth)) {
      return { at: 'context', context: second, turn: fourth, ...query };
    }
    return nowhere;
  }
  if (first === 'chat') {
    return {
      at: 'chat',
      chat: second,
      ...(third === 'm' && fourth && { message: fourth, ...query }),
    };
  }
  if (first === 'w' && (third === undefined || third === 's')) {
    return { at: 'workflow', thread: second, ...(fourth && { step: fourth, ...query }) };
  }
  if (first === 's' && (third === undefined || third === 'e')) {
    return { at: 'session', session: second, ...(fourth && { entry: fourth, ...query }) };
  }
  if (third !== undefined) return nowhere;
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
      if (view.turn === undefined) return `/c/${view.context}`;
      return `/c/${view.context}/t/${view.turn}${searchOf(view)}`;
    case 'branches':
      return `/c/${view.context}/branches`;
    case 'compare':
      return `/compare/${view.left}..${view.right}`;
    case 'chat':
      if (view.message === undefined) return `/chat/${e(view.chat)}`;
      return `/chat/${e(view.chat)}/m/${e(view.message)}${searchOf(view)}`;
    case 'workflow':
      if (view.step === undefined) return `/w/${e(view.thread)}`;
      return `/w/${e(view.thread)}/s/${e(view.step)}${searchOf(view)}`;
    case 'session':
      if (view.entry === undefined) return `/s/${e(view.session)}`;
      return `/s/${e(view.session)}/e/${e(view.entry)}${searchOf(view)}`;
    case 'queue':
      return `/q/${e(view.queue)}`;
    case 'search':
      return `/search${searchOf(view)}`;
    case 'store':
      return '/store';
    case 'nowhere':
      return view.path;
  }
}

function searchOf({ query = '' }: { readonly query?: string }): string {
  return query === '' ? '' : `?q=${encodeURIComponent(query)}`;
}

/** Undefined for an escape that is not UTF-8. */
function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
