// An answer that survives a crash: node examples/crash-in-mid-stream.mjs ./.quipu
// Kill the process while it prints words, and start it again: it shows what was saved, and asks the model once more.
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from 'quipudb';

const store = await openStore(process.argv[2] ?? './.quipu');
const { contexts } = store;
const { id, head } = await contexts.getOrCreate('jobs/story');
const last = head === 0n ? undefined : await contexts.turn(head);

let question;
if (last === undefined) {
  question = await contexts.append(id, { type: 'user', payload: 'Tell me a story.' });
} else if (last.outcome === 'interrupted') {
  console.log(`saved before the crash: ${last.payload.trim()}`);
  // The cut-off answer stays as a branch. The new one continues from the question.
  question = await contexts.turn(last.parent);
} else if (last.type === 'user') {
  question = last;
}

if (question === undefined) {
  console.log(`the whole story: ${last.payload.trim()}`);
} else {
  const answer = await contexts.open(id, { type: 'assistant' }, { parent: question.id });
  for (const word of ['Once ', 'upon ', 'a ', 'time ', 'it ', 'rained.']) {
    await answer.write(word);
    await answer.flush(); // From here on, this word survives a power cut.
    console.log(word.trim());
    await sleep(50);
  }
  await answer.seal();
}
await store.close();
