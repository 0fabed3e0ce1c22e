// A planner, a coder and a reviewer who solve an issue together. All three are shell commands and need no
// model: put the command line of one in their place. A command reads the thread so far from its standard
// input and prints what it has to say; a block of JSON at its end becomes the step's facts.

const fenced = (json) => `printf '%s\\n' '\`\`\`json' '${json}' '\`\`\`'`;

export const descriptor = {
  name: 'solve-issue',
  description: 'Plan, code and review until the reviewer is content.',
  maxRounds: 10,
  roles: {
    planner: {
      description: 'Says in how many steps the issue is solved.',
      command: `lines=$(wc -l); echo "Read $lines lines; two steps will do."; ${fenced('{"steps":2}')}`,
      schema: {
        type: 'object',
        required: ['steps'],
        properties: { steps: { type: 'integer', minimum: 1 } },
      },
    },
    coder: {
      description: 'Takes one step.',
      command: `tries=$(grep -c '^## coder' || true); echo "Step $((tries + 1)) is done."`,
    },
    reviewer: {
      description: 'Approves what took two steps.',
      command: `tries=$(grep -c '^## coder' || true)
if [ "$tries" -ge 2 ]; then echo 'Good.'; ${fenced('{"approved":true}')}
else echo 'Not yet.'; ${fenced('{"approved":false}')}; fi`,
      schema: {
        type: 'object',
        required: ['approved'],
        properties: { approved: { type: 'boolean' } },
      },
    },
  },
};

/** Who follows whom. The first rule that fits counts; a rule without a condition always does. */
export const table = {
  __start__: 'planner',
  planner: 'coder',
  coder: 'reviewer',
  reviewer: [{ when: { approved: true }, to: '__end__' }, { to: 'coder' }],
};
