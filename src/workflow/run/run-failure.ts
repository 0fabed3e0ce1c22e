/** What a role or a bundle did wrong. It ends the thread with return code 1; other errors leave it as it is. */
export class RunFailure extends Error {
  override readonly name: string = 'RunFailure';
}
