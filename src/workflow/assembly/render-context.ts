import type { ThreadContext } from '../threads/thread.ts';

/** Renders a context as text, for a program that reads it from standard input. */
export function renderContext({ start, summary, steps }: Omit<ThreadContext, 'thread'>): string {
  const parts = [`# ${start.name}`, start.prompt];
  if (summary !== undefined) parts.push('## Summary of the steps before', summary);
  for (const { role, content = '' } of steps) parts.push(`## ${role}`, content);
  return `${parts.map((part) => part.trimEnd()).join('\n\n')}\n`;
}
