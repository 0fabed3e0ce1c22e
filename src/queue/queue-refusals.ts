import { QuipuError } from '../base/errors.ts';

// The refusals that every queue gives in the same words.

export function noSuchQueue(name: string): QuipuError<'NOT_FOUND'> {
  return new QuipuError('NOT_FOUND', `there is no queue ${name}`, { what: 'queue', id: name });
}

export function noSubscription(consumer: string): QuipuError<'NOT_FOUND'> {
  const data = { what: 'subscription', id: consumer };
  return new QuipuError('NOT_FOUND', `consumer ${consumer} has no subscription`, data);
}

export function isSubscribed(consumer: string): QuipuError<'EXISTS'> {
  const data = { what: 'subscription', id: consumer };
  return new QuipuError('EXISTS', `consumer ${consumer} is subscribed already`, data);
}

export function noFences(): QuipuError<'UNSUPPORTED'> {
  const message =
    'a queue in a folder has locks and no fences; leave the fence out, which is for queues on PostgreSQL';
  return new QuipuError('UNSUPPORTED', message, { what: 'fence', found: 'a queue in a folder' });
}
