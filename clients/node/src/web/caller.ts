/** The caller of a policy whose key is "": policies take no empty id and no empty field. It is the same in the clients of all languages. */
const anonymous = "anonymous";

/** A key as the id of a caller of a policy, or a field. */
export const callerOf = (key: string): string => key === "" ? anonymous : key;
