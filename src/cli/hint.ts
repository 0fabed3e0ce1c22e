import type { QuipuError } from '../base/errors.ts';
import { isQuipuError } from '../base/errors.ts';
import { outputHint } from './process-streams.ts';

/** The next command to type, where the command line knows better than the message. */
export function toHint(error: QuipuError): string | undefined {
  if (isQuipuError(error, 'NOT_FOUND') && error.data.what === 'context') {
    return 'list the contexts with: quipu context list';
  }
  if (isQuipuError(error, 'HEAD_MOVED') && /^[0-9]+$/.test(error.data.context)) {
    return `someone was faster; look again with: quipu context last ${error.data.context}`;
  }
  if (isQuipuError(error, 'LOCKED') && error.data.what === 'store') {
    return 'see who has it, and whether it answers, with: quipu doctor';
  }
  if (isQuipuError(error, 'IDEMPOTENCY_CONFLICT')) {
    return `that key was used for turn ${error.data.turn}; choose another key for another payload`;
  }
  if (isQuipuError(error, 'INVALID') && error.data.what === 'payload') {
    return 'say what the payload is with: --encoding text, json, msgpack or bytes';
  }
  return outputHint(error);
}
