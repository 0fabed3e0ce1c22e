/**
 * For classes whose objects are their fields and nothing else: such an object goes wherever a plain one does,
 * also over a connection.
 */
export class Plain {}
