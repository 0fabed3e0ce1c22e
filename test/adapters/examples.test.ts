import { describe, expect, it } from 'vitest';
import { runExample } from '../support/run-example.ts';
import { freshFolder } from '../../src/testing/fresh-folder.ts';

/** Each program prints `finding 1` to `finding 5` as its model says so, and then what its store has. */
const PROGRAMS = [
  'ai-sdk-chat.mjs',
  'claude-session.mjs',
  'langgraph-agent.mjs',
  'openai-agents.mjs',
];
const END = 'Write a report., finding 1, finding 2, finding 3, finding 4, finding 5';

describe.each(PROGRAMS)('examples/%s', (file) => {
  it('goes on where it was killed, and has everything at the end', async () => {
    const folder = freshFolder();
    const first = await runExample(file, [folder], 'finding 3');
    expect(first.killed).toBe(true);
    const second = await runExample(file, [folder]);
    expect(second.lines.at(-1)).toBe(END);
    // What was durable is not done again: at most the steps at the moment of the kill.
    expect(second.lines).not.toContain('finding 1');
    expect(second.lines).toContain('finding 5');
    const third = await runExample(file, [folder]);
    expect(third.lines).toEqual([END]);
  });
});
