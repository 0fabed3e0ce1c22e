/** The command did its work, and what it looked at is not well. */
export class Unhealthy extends Error {
  override readonly name: string = 'Unhealthy';
}
