import { expect, it, vi } from 'vitest';
import { bothHooks } from './log-hooks.ts';

it('calls both, the first one first', () => {
  const told: string[] = [];
  const hooks = bothHooks(
    { received: (bytes) => told.push(`a ${bytes}`) },
    { received: (bytes) => told.push(`b ${bytes}`) },
  );
  hooks.received?.(5);
  expect(told).toEqual(['a 5', 'b 5']);
});

it('leaves out what neither has, and a call more where one has it', () => {
  const sent = vi.fn<(bytes: number) => void>();
  const refused = vi.fn<() => void>();
  const hooks = bothHooks({ sent }, { refused });
  expect(hooks.sent).toBe(sent);
  expect(hooks.refused).toBe(refused);
  expect(hooks.answered).toBeUndefined();
});
