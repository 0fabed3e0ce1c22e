import { describe, expect } from 'vitest';
import { parseMarkdown } from '../../chat/export/markdown.ts';
import type { Question } from '../../chat/events/payloads.ts';
import { failure } from '../engine-suite/fixture.ts';
import { join, newChat, reopen } from './fixture.ts';
import { openRig, rigCases } from '../store-suite/fixture.ts';
import type { StoreTarget } from '../store-suite/store-target.ts';

export function clarificationsSuite(target: StoreTarget): void {
  const it = rigCases(target);
  describe('clarifications', () => {
    const questions: Question[] = [
      { id: 'q1', text: 'Which one?', kind: 'single', options: ['a', 'b'] },
      { id: 'q2', text: 'Sure?', kind: 'yes_no' },
      { id: 'q3', text: 'Some?', kind: 'multiple', options: ['x', 'y'] },
      { id: 'q4', text: 'Why?', kind: 'text' },
    ];
    const answers = [
      { question_id: 'q1', value: 'b' },
      { question_id: 'q2', value: 'yes' },
      { question_id: 'q3', value: ['x'] },
      { question_id: 'q4', value: 'because' },
    ];

    it('are open after a restart, and closed by answers', async ({ rig }) => {
      const batch = await (await newChat(rig)).ask(questions, { title: 'first' });
      const chat = await reopen(rig, 'c1');
      expect((await chat.status()).clarification.open).toMatchObject({
        batch_id: batch,
        questions,
      });
      await failure(chat.ask(questions), 'INVALID');
      await chat.answer(batch, answers);
      const { clarification } = await chat.status();
      expect(clarification).toMatchObject({ answered: 1, last: { outcome: 'answered', answers } });
      expect(clarification.open).toBeUndefined();
      await failure(chat.answer(batch, answers), 'INVALID');
      const next = await chat.ask(questions.slice(0, 1));
      await chat.dismiss(next, 'not now');
      await failure(chat.dismiss(next), 'INVALID');
      expect((await chat.status()).clarification).toMatchObject({ answered: 1, dismissed: 1 });
    });

    it.each([
      ['no answer to one', answers.slice(1)],
      ['an unknown question', [...answers, { question_id: 'q5', value: 'x' }]],
      ['one answered twice', [...answers, answers[0]]],
      ['another word than an option', [{ question_id: 'q1', value: 'B' }, ...answers.slice(1)]],
      [
        'a token other than yes or no',
        [answers[0], { question_id: 'q2', value: 'true' }, ...answers.slice(2)],
      ],
      [
        'a choice that is none',
        [...answers.slice(0, 2), { question_id: 'q3', value: ['z'] }, answers[3]],
      ],
      ['an empty text', [...answers.slice(0, 3), { question_id: 'q4', value: '' }]],
    ])('refuse %s', async (_, given) => {
      const chat = await newChat(await openRig(target));
      const batch = await chat.ask(questions);
      await failure(chat.answer(batch, given as never), 'INVALID');
      expect((await chat.status()).clarification.open?.batch_id).toBe(batch);
    });

    it.each([
      ['none', []],
      ['an empty id', [{ ...questions[0], id: '' }]],
      ['a blank text', [{ ...questions[0], text: ' \n' }]],
      ['a blank option', [{ ...questions[0], options: ['a', ' '] }]],
      ['an id twice', [questions[1], questions[1]]],
      ['a choice without options', [{ ...questions[0], options: [] }]],
      ['options for yes or no', [{ ...questions[1], options: ['yes'] }]],
      ['a kind nobody knows', [{ ...questions[1], kind: 'guess' }]],
    ])('are not opened with %s', async (_, given) => {
      const chat = await newChat(await openRig(target));
      await failure(chat.ask(given as never), 'INVALID');
      expect(await chat.status()).toMatchObject({ events: 0 });
    });

    it('are shown with their answers, all of them', async ({ rig }) => {
      const chat = await newChat(rig);
      await chat.ask(questions, { id: 'b1', title: 'first' });
      await chat.answer('b1', answers);
      await chat.ask(questions.slice(0, 1), { id: 'b2' });
      await failure(chat.ask(questions, { id: 'b1' }), 'EXISTS');
      await chat.dismiss('b2', 'not now');
      await failure(chat.ask(questions, { id: 'b1' }), 'EXISTS');
      // So many events that the first batches are in a fold.
      await chat.append(
        Array.from({ length: 1500 }, (_, n) => ({
          type: 'message_added',
          payload: { message_id: `m${n}`, role: 'u', content: `${n}` },
        })),
      );
      await chat.ask(questions.slice(1, 2), { id: 'b3' });
      const again = await reopen(rig, 'c1');
      const { batches } = await again.clarifications();
      const told = questions.map((question, at) => ({ ...question, answer: answers[at]?.value }));
      expect(batches).toMatchObject([
        { batch_id: 'b1', seq: 1, title: 'first', state: 'answered', questions: told },
        { batch_id: 'b2', seq: 3, state: 'dismissed', reason: 'not now' },
        { batch_id: 'b3', state: 'open', questions: [{ id: 'q2' }] },
      ]);
      expect(batches[2]?.questions[0]?.answer).toBeUndefined();
      const page = await again.clarifications({ limit: 1 });
      expect(page.batches.map(({ batch_id: id }) => id)).toEqual(['b3']);
      const before = await again.clarifications({ limit: 5, before: page.before! });
      expect(before.batches.map(({ batch_id: id }) => id)).toEqual(['b1', 'b2']);
      const parsed = parseMarkdown(await join(again.export()));
      expect(parsed?.clarifications).toEqual(batches);
      await again.redactBatch('b1', { reason: 'private' });
      const [hidden] = (await again.clarifications()).batches;
      expect(hidden).toMatchObject({ batch_id: 'b1', redacted: true, questions: [] });
      expect(await join(again.export())).not.toContain('because');
    });

    it('name the open batch when another one is answered', async () => {
      const chat = await newChat(await openRig(target));
      const error = await failure(chat.answer('nosuch', answers), 'INVALID');
      expect(error.message).toBe('batch nosuch is not open: no batch is open');
      await chat.ask(questions, { id: 'b1' });
      const other = await failure(chat.dismiss('nosuch'), 'INVALID');
      expect(other.message).toBe('batch nosuch is not open: batch b1 is open');
    });

    it('are answered once, however many try', async ({ rig }) => {
      const chat = await newChat(rig);
      const batch = await chat.ask(questions);
      const others = await Promise.all([1, 2, 3].map(() => reopen(rig, 'c1')));
      const results = await Promise.allSettled(
        [chat, ...others].map((one) => one.answer(batch, answers)),
      );
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(await (await reopen(rig, 'c1')).status()).toMatchObject({ events: 2, problems: 0 });
    });
  });
}
