import { $ } from "./dom.js";

// ask sends a request with the token, if there is one, and asks for one when the server does.
export async function ask(path, body) {
  const headers = { Accept: "application/json" };
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  const options = { headers, cache: "no-store" };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  const response = await fetch(path, options);
  if (response.status === 401) {
    $("token-wrong").hidden = !token;
    await login();
    return ask(path, body);
  }
  const answer = await response.json().catch(() => ({ error: `status ${response.status}` }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

let asking;

// login waits for a token; all who need one wait for the same.
function login() {
  asking ??= new Promise((resolve) => {
    const dialog = $("login");
    dialog.addEventListener("close", () => {
      sessionStorage.setItem("token", $("token").value);
      $("token").value = "";
      asking = undefined;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}
