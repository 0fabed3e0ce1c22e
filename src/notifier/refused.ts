/** The command line was right, and what it asks for cannot be done now. */
export class Refused extends Error {
  override readonly name: string = 'Refused';
  /** What to do about it. */
  readonly suggestion: string;

  constructor(message: string, suggestion: string) {
    super(message);
    this.suggestion = suggestion;
  }
}
