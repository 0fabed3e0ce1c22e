/** A bundle with the roles `a` and `b`, one after the other. */
export const one = (roles: string, more: string = ''): string => `
export const descriptor = { name: 'one', roles: { a: {}, b: {} } };
export const roles = { ${roles} };
export async function* run(context) { yield 'a'; const b = yield { role: 'b', prompt: 'and b' }; return b.content; }
${more}`;
