// A report in chapters. Each chapter's facts come from a workflow of its own, and between chapters the thread
// is compacted: the next author is shown a summary instead of everything before it. The order of the steps
// is a generator. When its process dies it is led again through the steps that are recorded, so it must go
// the same way each time: no clocks and no chance in it.

export const descriptor = {
  name: 'write-report',
  description: 'Chapters with facts from another workflow, and a summary between them.',
  maxRounds: 20,
  roles: {
    facts: { workflow: 'solve-issue' },
    author: {},
    summary: { compact: true },
  },
};

export const roles = {
  author: ({ prompt, summary, steps }) => {
    const facts = steps.findLast(({ role }) => role === 'facts');
    const text = `${prompt}\n\n${facts.content}`;
    return { content: text, meta: { knowsSummary: summary !== undefined }, artifacts: [text] };
  },
  summary: ({ summary = '', steps }) =>
    `${summary}${steps.length} steps, ${steps.filter(({ role }) => role === 'author').length} of them chapters. `,
};

export async function* run() {
  const chapters = ['What happened', 'What was learnt'];
  for (const chapter of chapters) {
    const facts = yield { role: 'facts', prompt: `Find the facts for: ${chapter}` };
    if (facts.meta.returnCode !== 0) return { returnCode: 1, summary: `no facts for ${chapter}` };
    yield { role: 'author', prompt: `Chapter: ${chapter}` };
    yield 'summary';
  }
  return `${chapters.length} chapters`;
}
