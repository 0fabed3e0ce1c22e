// What the page shows of a payload, whatever wrote it. Shapes turn payloads into this; parts draw it.

export type Role = 'user' | 'assistant' | 'system' | 'tool' | 'other';

export type Block =
  /** Markdown. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string }
  | { readonly kind: 'call'; readonly id?: string; readonly name: string; readonly input: unknown }
  | {
      readonly kind: 'result';
      readonly id?: string;
      readonly name?: string;
      readonly text: string;
      readonly failed: boolean;
      /** The text is a blob. */
      readonly ref?: string;
    }
  /** A text that is a blob. */
  | { readonly kind: 'blob'; readonly ref: string }
  /** `ref` names a blob; `base64` holds the picture itself. */
  | {
      readonly kind: 'image';
      readonly mediaType: string;
      readonly ref?: string;
      readonly base64?: string;
    }
  | { readonly kind: 'marker'; readonly label: string; readonly text?: string }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'bytes'; readonly base64: string };

export interface Tokens {
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

export interface Shown {
  readonly role: Role;
  /** Unix time in milliseconds at which it was said, where that is not when it was written. */
  readonly at?: number;
  /** Who speaks, when the role alone does not say it. */
  readonly name?: string;
  readonly model?: string;
  readonly tokens?: Tokens;
  readonly blocks: readonly Block[];
}

/** Recognises payloads of one sort. The first shape of the list that gives something is taken. */
export interface Shape {
  readonly name: string;
  show(payload: unknown, type: string): Shown | undefined;
}

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function toRole(role: unknown): Role | undefined {
  switch (role) {
    case 'user':
    case 'human':
      return 'user';
    case 'assistant':
    case 'model':
    case 'gemini':
    case 'ai':
      return 'assistant';
    case 'system':
    case 'developer':
      return 'system';
    case 'tool':
    case 'function':
    case 'toolResult':
      return 'tool';
    default:
      return undefined;
  }
}

/** Token figures as the providers name them. */
export function toTokens(usage: unknown): Tokens | undefined {
  if (!isFields(usage)) return undefined;
  const pick = (...names: string[]): number | undefined => {
    for (const name of names) {
      const value = usage[name];
      if (typeof value === 'number' && value >= 0) return value;
    }
    return undefined;
  };
  const input = pick('input_tokens', 'prompt_tokens', 'inputTokens', 'input', 'promptTokenCount');
  const output = pick(
    'output_tokens',
    'completion_tokens',
    'outputTokens',
    'output',
    'candidatesTokenCount',
  );
  const cacheRead = pick('cache_read_input_tokens', 'cached_input_tokens', 'cacheRead');
  const cacheWrite = pick('cache_creation_input_tokens', 'cacheWrite');
  if (input === undefined && output === undefined) return undefined;
  return {
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheWrite !== undefined && { cacheWrite }),
  };
}
