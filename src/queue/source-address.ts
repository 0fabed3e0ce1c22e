import { invalid } from '../base/errors.ts';
import { SOURCE_BYTES_MAX } from './limits.ts';

// The source of an event, as segments between colons:
//
//   external:<channel_type>:<channel_id>:<session_type>:<session_id>:<peer_id>
//   internal:<session_type>:<session_id>:<agent_id>
//   self
//
// Any other text without control characters is a plain name.

const SEGMENTS: Readonly<Record<string, readonly string[]>> = {
  external: ['channel_type', 'channel_id', 'session_type', 'session_id', 'peer_id'],
  internal: ['session_type', 'session_id', 'agent_id'],
};

/** The same sources come again and again, and a batch has many events. */
const KNOWN_MAX = 1000;
const known = new Set<string>();

export function checkSource(source: unknown): string {
  if (typeof source === 'string' && known.has(source)) return source;
  const checked = checkNewSource(source);
  if (known.size >= KNOWN_MAX) known.clear();
  known.add(checked);
  return checked;
}

function checkNewSource(source: unknown): string {
  if (typeof source !== 'string' || source === '')
    throw invalid('source', 'is a text, and not empty');
  const bytes = Buffer.byteLength(source);
  if (bytes > SOURCE_BYTES_MAX) {
    throw invalid('source', `takes at most ${SOURCE_BYTES_MAX} bytes, got ${bytes}`);
  }
  if (/[\p{Cc}\p{Surrogate}]/u.test(source)) {
    throw invalid('source', 'has a control character or a lone surrogate');
  }
  if (source.startsWith('-')) throw invalid('source', 'must not start with a hyphen');
  const [prefix = '', ...segments] = source.split(':');
  const names = Object.hasOwn(SEGMENTS, prefix) ? SEGMENTS[prefix] : undefined;
  if (names === undefined || segments.length === 0) return source;
  const form = [prefix, ...names.map((name) => `<${name}>`)].join(':');
  if (segments.length !== names.length) {
    throw invalid(
      'source',
      `has ${segments.length + 1} segments where ${names.length + 1} are needed: ${form}`,
    );
  }
  const empty = segments.indexOf('');
  if (empty !== -1) throw invalid('source', `has an empty <${names[empty] ?? ''}>: ${form}`);
  if (source !== source.toLowerCase()) throw invalid('source', `is all lower-case: ${form}`);
  return source;
}
