import { checkString } from '../../base/check-text.ts';
import { QuipuError } from '../../base/errors.ts';
import { decodePercent, pathToQuery } from './query.ts';

export type InternalUrl =
  | { readonly kind: 'artifact'; readonly id: string }
  | {
      readonly kind: 'agent';
      readonly id: string;
      /** Undefined for the whole text. */
      readonly query?: string;
    };

/** Parses an address, whether or not its text exists. */
export function parseInternalUrl(url: string): InternalUrl {
  checkString(url, 'url');
  const [, scheme = '', rest = ''] = /^([^:/]*):(?:\/\/)?([^]*)$/.exec(url) ?? ['', url];
  if (url.startsWith('artifact://')) return parseArtifact(rest);
  if (url.startsWith('agent://')) return parseAgent(rest);
  throw wrong(`Unknown protocol: ${scheme}://\nSupported: agent://, artifact://`);
}

function parseArtifact(rest: string): InternalUrl {
  if (rest === '') throw wrong('artifact:// URL requires a numeric ID: artifact://0');
  const id = decodePercent(rest);
  if (!/^\d+$/.test(id) || id.endsWith('\n')) {
    throw wrong(`artifact:// ID must be numeric, got: ${id}`);
  }
  return { kind: 'artifact', id };
}

function parseAgent(rest: string): InternalUrl {
  const mark = rest.indexOf('?');
  const before = mark === -1 ? rest : rest.slice(0, mark);
  const slash = before.indexOf('/');
  const id = decodePercent(slash === -1 ? before : before.slice(0, slash));
  if (id === '') throw wrong('agent:// URL requires an output ID: agent://<id>');
  const path = slash === -1 ? '' : before.slice(slash + 1);
  const asked = mark === -1 ? '' : queryParameter(rest.slice(mark + 1));
  if (path !== '' && asked !== '') {
    throw wrong('agent:// URL cannot combine path extraction with ?q=');
  }
  if (asked !== '') return { kind: 'agent', id, query: asked };
  return path === '' ? { kind: 'agent', id } : { kind: 'agent', id, query: pathToQuery(path) };
}

function queryParameter(text: string): string {
  const pair = text.split('&').find((part) => part.startsWith('q='));
  return pair === undefined ? '' : decodePercent(pair.slice(2).replaceAll('+', ' '));
}

function wrong(message: string): QuipuError<'INVALID'> {
  return new QuipuError('INVALID', message, { what: 'url' });
}
