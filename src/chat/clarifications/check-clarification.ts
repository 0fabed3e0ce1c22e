import type { Answer, Question } from '../events/payloads.ts';
import { OPTIONS_MAX, QUESTIONS_MAX } from '../limits.ts';

// The rules of questions and answers, for writing and for reading alike.

/** Returns the problem of a batch of questions; undefined when it may be asked. */
export function questionsProblem(questions: readonly Question[]): string | undefined {
  if (questions.length === 0) return 'there are no questions';
  if (questions.length > QUESTIONS_MAX) return `there are more than ${QUESTIONS_MAX} questions`;
  const ids = new Set<string>();
  for (const { id, text, kind, options } of questions) {
    if (id === '') return 'a question has an empty id';
    if (ids.has(id)) return `question ${id} is there twice`;
    ids.add(id);
    if (text === '') return `question ${id} has no text`;
    const chooses = kind === 'single' || kind === 'multiple';
    if (chooses !== (options !== undefined)) {
      return chooses ? `question ${id} has no options` : `question ${id} takes no options`;
    }
    if (options !== undefined) {
      const wrong = optionsProblem(options);
      if (wrong !== undefined) return `question ${id} ${wrong}`;
    }
  }
  return undefined;
}

function optionsProblem(options: readonly string[]): string | undefined {
  if (options.length === 0 || options.length > OPTIONS_MAX) {
    return `has 1 to ${OPTIONS_MAX} options, not ${options.length}`;
  }
  if (options.includes('')) return 'has an empty option';
  return new Set(options).size === options.length ? undefined : 'has an option twice';
}

/** Returns the problem of these answers; undefined when they answer every question. */
export function answersProblem(
  questions: readonly Question[],
  answers: readonly Answer[],
): string | undefined {
  const open = new Map(questions.map((question) => [question.id, question]));
  const given = new Set<string>();
  for (const { question_id: id, value } of answers) {
    const question = open.get(id);
    if (question === undefined) return `there is no question ${id}`;
    if (given.has(id)) return `question ${id} is answered twice`;
    given.add(id);
    const wrong = valueProblem(question, value);
    if (wrong !== undefined) return `the answer to ${id} ${wrong}`;
  }
  const missing = questions.find(({ id }) => !given.has(id));
  return missing === undefined ? undefined : `question ${missing.id} has no answer`;
}

function valueProblem(
  { kind, options = [] }: Question,
  value: Answer['value'],
): string | undefined {
  switch (kind) {
    case 'single':
      return typeof value === 'string' && options.includes(value)
        ? undefined
        : `is one of its options, word for word`;
    case 'multiple': {
      if (typeof value === 'string') return 'is a list of its options';
      const fits = value.every((one) => options.includes(one));
      return fits && new Set(value).size === value.length
        ? undefined
        : 'has only its options, each once';
    }
    case 'yes_no':
      return value === 'yes' || value === 'no' ? undefined : 'is "yes" or "no"';
    case 'text':
      return typeof value === 'string' && value !== '' ? undefined : 'is a text that is not empty';
  }
}
