import type { ChatEvent } from '../events/event.ts';
import { isObject } from '../events/event.ts';
import type { Projection } from '../projection.ts';

/** Types and roles are counted one by one up to this many; the rest are counted together. */
const NAMES_MAX = 64;
const OTHERS = 'others';

export interface Usage {
  readonly events: number;
  readonly byType: Readonly<Record<string, number>>;
  /** Messages begun or completed at once, by role; streamed messages count when they are completed. */
  readonly byRole: Readonly<Record<string, number>>;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly firstAt?: string;
  readonly lastAt?: string;
}

export const usageProjection: Projection<Usage> = {
  name: 'usage',
  version: 1,
  initial: () => ({ events: 0, byType: {}, byRole: {}, inputTokens: 0, outputTokens: 0 }),
  apply(usage: Usage, { type, payload, at }: ChatEvent): Usage {
    const role = payload['role'];
    const counts = type === 'message_added' || type === 'message_completed';
    const tokens = isObject(payload['usage']) ? payload['usage'] : {};
    return {
      events: usage.events + 1,
      byType: countIn(usage.byType, type),
      byRole: counts && typeof role === 'string' ? countIn(usage.byRole, role) : usage.byRole,
      inputTokens: usage.inputTokens + amountOf(tokens['input_tokens']),
      outputTokens: usage.outputTokens + amountOf(tokens['output_tokens']),
      firstAt: usage.firstAt ?? at,
      lastAt: at,
    };
  },
};

function countIn(counts: Usage['byType'], name: string): Usage['byType'] {
  const isKnown = Object.hasOwn(counts, name) || Object.keys(counts).length < NAMES_MAX;
  // "__proto__" is a name like any other only when it is defined, not assigned.
  const counted = isKnown && name !== '__proto__' ? name : OTHERS;
  const before = Object.hasOwn(counts, counted) ? (counts[counted] ?? 0) : 0;
  return { ...counts, [counted]: before + 1 };
}

function amountOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}
